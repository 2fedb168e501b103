// SPDX-License-Identifier: Apache-2.0
#include "io/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/try.h"
#include "io/file_set.h"

namespace wgk::io {
namespace {

// Closes on destruction.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int get() const { return descriptor_; }
  // Close errors matter after writing: they may be the only report of a full disk.
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

std::unexpected<Error> system_failure(std::string_view code, const std::filesystem::path& path,
                                      const char* what) {
  return failure(
      code, "cannot " + std::string(what) + " '" + path.string() + "': " + std::strerror(errno));
}

struct OpenFile {
  File file;
  std::uint64_t size;
};

Result<OpenFile> open_regular(const std::filesystem::path& path) {
  // Without O_NONBLOCK opening a pipe would wait for a writer.
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_failure("io/read", path, "open");
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return system_failure("io/read", path, "look at");
  if (!S_ISREG(status.st_mode))
    return failure("io/read", "'" + path.string() + "' is not a regular file");
  return OpenFile{std::move(file), static_cast<std::uint64_t>(status.st_size)};
}

Result<std::string> read_bytes(const OpenFile& source, const std::filesystem::path& path,
                               std::uint64_t offset, std::uint64_t size) {
  std::string bytes(size, '\0');
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(source.file.get(), bytes.data() + done, size - done,
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure("io/read", path, "read");
    if (count == 0) return failure("io/read", "'" + path.string() + "' ended while it was read");
    done += static_cast<std::uint64_t>(count);
  }
  return bytes;
}

bool write_bytes(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  std::filesystem::path name = path.parent_path();
  name /= "." + path.filename().string() + "." + std::to_string(::getpid()) + "." +
          std::to_string(counter++) + ".tmp";
  return name;
}

}  // namespace

Result<std::uint64_t> file_size(const std::filesystem::path& path) {
  WGK_ASSIGN(const OpenFile source, open_regular(path));
  return source.size;
}

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  WGK_ASSIGN(const OpenFile source, open_regular(path));
  if (source.size > max_bytes) {
    return failure("io/read", "'" + path.string() + "' has " + std::to_string(source.size) +
                                  " bytes; the limit is " + std::to_string(max_bytes));
  }
  return read_bytes(source, path, 0, source.size);
}

Result<std::string> read_range(const std::filesystem::path& path, std::uint64_t offset,
                               std::uint64_t size) {
  WGK_ASSIGN(const OpenFile source, open_regular(path));
  if (offset > source.size || size > source.size - offset) {
    return failure("io/read", "'" + path.string() + "' has " + std::to_string(source.size) +
                                  " bytes; bytes " + std::to_string(offset) + " to " +
                                  std::to_string(offset + size) + " are wanted");
  }
  return read_bytes(source, path, offset, size);
}

Status write_file(const std::filesystem::path& path, std::string_view bytes) {
  FileSet files;
  WGK_TRY(files.add(path, bytes));
  return files.commit();
}

FileSet::~FileSet() {
  for (const Entry& entry : entries_) ::unlink(entry.temporary.c_str());
}

Status FileSet::add(const std::filesystem::path& path, std::string_view bytes) {
  // Found out here, for the renaming of others cannot be taken back.
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
    return system_failure("io/write", path, "write");
  }
  const std::filesystem::path temporary = temporary_beside(path);
  File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return system_failure("io/write", path, "write");
  entries_.push_back({temporary, path});
  if (!write_bytes(file.get(), bytes) || !file.close())
    return system_failure("io/write", path, "write");
  return {};
}

Status FileSet::commit() {
  while (!entries_.empty()) {
    const Entry& entry = entries_.front();
    if (::rename(entry.temporary.c_str(), entry.path.c_str()) != 0)
      return system_failure("io/write", entry.path, "write");
    entries_.erase(entries_.begin());
  }
  return {};
}

}  // namespace wgk::io
