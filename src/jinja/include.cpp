// SPDX-License-Identifier: Apache-2.0
// The pass before parsing that puts included files in place of their include lines.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/template.h"

namespace wgk::jinja {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

struct Include {
  std::size_t begin;  // with what is swallowed around it
  std::size_t end;
  std::string path;
};

// An include at "{%", without dashes.
std::optional<Include> include_at(std::string_view text, std::size_t at) {
  std::size_t next = at + 2;
  const auto skip = [&] {
    while (next < text.size() && is_space(text[next])) ++next;
  };
  skip();
  if (!text.substr(next).starts_with("include")) return std::nullopt;
  next += 7;
  const std::size_t after_word = next;
  skip();
  if (next >= text.size() || (text[next] != '"' && text[next] != '\'')) return std::nullopt;
  if (next == after_word && text[next] != '"' && text[next] != '\'') return std::nullopt;
  const std::size_t close = text.find(text[next], next + 1);
  if (close == std::string_view::npos) return std::nullopt;
  Include include{at, 0, std::string(text.substr(next + 1, close - next - 1))};
  next = close + 1;
  skip();
  if (!text.substr(next).starts_with("%}")) return std::nullopt;
  include.end = next + 2;
  // Alone on its line it takes indentation and line end along.
  std::size_t begin = at;
  while (begin > 0 && is_blank(text[begin - 1])) --begin;
  std::size_t end = include.end;
  while (end < text.size() && is_blank(text[end])) ++end;
  const bool starts_line = begin == 0 || text[begin - 1] == '\n';
  const bool crlf = text.substr(end).starts_with("\r\n");
  const bool ends_line = end == text.size() || text[end] == '\n' || crlf;
  if (starts_line && ends_line) {
    include.begin = begin;
    include.end = std::min(text.size(), end + (crlf ? 2 : 1));
  }
  return include;
}

// The path from the package root, or nothing when it leaves the package.
std::optional<std::string> resolved(std::string path, std::string_view from) {
  std::replace(path.begin(), path.end(), '\\', '/');
  if (path.starts_with('.')) {
    const std::size_t slash = from.rfind('/');
    if (slash != std::string_view::npos) path = std::string(from.substr(0, slash + 1)) + path;
  }
  std::vector<std::string_view> parts;
  const std::string_view whole = path;
  for (std::size_t at = 0; at <= whole.size();) {
    const std::size_t slash = std::min(whole.find('/', at), whole.size());
    const std::string_view part = whole.substr(at, slash - at);
    if (part == "..") {
      if (parts.empty()) return std::nullopt;
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    at = slash + 1;
  }
  std::string joined;
  for (const std::string_view part : parts)
    joined += (joined.empty() ? "" : "/") + std::string(part);
  return joined;
}

// Numbers of lines at places that are asked for from the beginning to the end.
struct Lines {
  std::string_view text;
  std::size_t place = 0;
  std::size_t line = 1;

  std::size_t at(std::size_t next) {
    const auto begin = text.begin() + static_cast<std::ptrdiff_t>(std::min(place, next));
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(next);
    line += static_cast<std::size_t>(std::count(begin, end, '\n'));
    place = std::max(place, next);
    return line;
  }
};

class Expander {
 public:
  Expander(const Loader& loader, const expr::Limits& limits) : loader_(loader), limits_(limits) {}

  Status expand(const std::string& path) {
    const std::string* found = loader_(path);
    if (found == nullptr) return failure("template/include", "there is no file '" + path + "'");
    const std::string_view text = *found;
    open_.push_back(path);
    files_.push_back(path);
    const std::size_t file = files_.size() - 1;
    std::size_t copied = 0;
    Lines lines{text};
    for (std::size_t at = text.find("{%"); at != std::string_view::npos; at = text.find("{%", at)) {
      const std::optional<Include> include = include_at(text, at);
      if (!include) {
        at += 2;
        continue;
      }
      const std::size_t begin = std::max(copied, include->begin);
      if (Status status = copy(file, lines, copied, begin); !status) return status;
      copied = include->end;
      at = include->end;
      if (Status status = descend(path, include->path); !status) {
        return std::unexpected(
            std::move(status.error())
                .during("expanding '" + path + "', line " + std::to_string(lines.at(begin))));
      }
    }
    open_.pop_back();
    return copy(file, lines, copied, text.size());
  }

  Expanded take() { return {std::move(text_), std::move(files_), std::move(pieces_)}; }

 private:
  Status descend(const std::string& from, const std::string& path) {
    const std::optional<std::string> target = resolved(path, from);
    if (!target)
      return failure("template/include", "the include '" + path + "' leaves the package");
    if (std::find(open_.begin(), open_.end(), *target) != open_.end()) {
      return failure("template/include", "the include '" + path + "' includes itself");
    }
    if (open_.size() >= limits_.max_depth) {
      return failure("limit/depth", "includes are nested deeper than " +
                                        std::to_string(limits_.max_depth) + " levels");
    }
    return expand(*target);
  }

  Status copy(std::size_t file, Lines& lines, std::size_t begin, std::size_t end) {
    if (++copies_ > limits_.max_steps / 100 + 100)
      return failure("limit/steps", "too many includes");
    // Each place costs something beside its text.
    constexpr std::size_t kBytesOfAPlace = 16;
    if (limits_.shared != nullptr && !limits_.shared->spend(kBytesOfAPlace + (end - begin)))
      return failure("limit/output", "the expanded templates are too long together");
    if (text_.size() + (end - begin) > limits_.max_output) {
      return failure("limit/output", "the expanded template is longer than " +
                                         std::to_string(limits_.max_output) + " bytes");
    }
    pieces_.push_back({text_.size(), file, lines.at(begin)});
    text_.append(lines.text.substr(begin, end - begin));
    return {};
  }

  const Loader& loader_;
  const expr::Limits& limits_;
  std::vector<std::string> open_;
  std::string text_;
  std::vector<std::string> files_;
  std::vector<Expanded::Piece> pieces_;
  std::size_t copies_ = 0;
};

}  // namespace

std::string Expanded::place(std::size_t offset) const {
  const Piece* piece = nullptr;
  for (const Piece& candidate : pieces) {
    if (candidate.begin > offset) break;
    piece = &candidate;
  }
  if (piece == nullptr) return {};
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(piece->begin);
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  const auto line = piece->line + static_cast<std::size_t>(std::count(begin, end, '\n'));
  return files[piece->file] + ", line " + std::to_string(line);
}

Result<Expanded> expand(std::string_view path, const Loader& loader, const expr::Limits& limits) {
  Expander expander(loader, limits);
  if (const Status status = expander.expand(std::string(path)); !status)
    return std::unexpected(status.error());
  return expander.take();
}

Result<std::string> expand_includes(std::string_view path, const Loader& loader,
                                    const expr::Limits& limits) {
  Result<Expanded> expanded = expand(path, loader, limits);
  if (!expanded) return std::unexpected(std::move(expanded.error()));
  return std::move(expanded->text);
}

}  // namespace wgk::jinja
