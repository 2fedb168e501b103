// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "json/json.h"

namespace wgk::json {
namespace {

// Feeds the library and knows how far it has read, also between its callbacks.
class Feed {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  Feed(const char* at, const char** shared) : at_(at), shared_(shared) {}
  reference operator*() const { return *at_; }
  Feed& operator++() {
    ++at_;
    *shared_ = at_;
    return *this;
  }
  Feed operator++(int) {
    const Feed before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Feed& other) const { return at_ == other.at_; }
  bool operator!=(const Feed& other) const { return at_ != other.at_; }
  difference_type operator-(const Feed& other) const { return at_ - other.at_; }

 private:
  const char* at_;
  const char** shared_;
};

// Builds the value on an explicit stack; stops the library at the first problem of ours.
class Builder {
 public:
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  Builder(std::string_view text, const char* const* at, std::size_t max_depth)
      : text_(text), at_(at), max_depth_(max_depth) {}

  // NOLINTBEGIN(readability-identifier-naming): names that the library asks for
  bool null() { return put(Value()); }
  bool boolean(bool value) { return put(Value(value)); }
  bool number_integer(std::int64_t value) {
    if (value == 0 && is_minus_zero()) return put(Value(-0.0));
    return put(Value(value));
  }
  bool number_unsigned(std::uint64_t value) { return put(Value(value)); }
  bool number_float(double, const std::string& digits) {
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return put(Value(value));
  }
  bool string(std::string& value) { return put(Value(std::move(value))); }
  bool binary(binary_t&) { return refuse("binary data"); }
  bool start_object(std::size_t) { return open(Value(Value::Object{})); }
  bool start_array(std::size_t) { return open(Value(Value::Array{})); }
  bool key(std::string& name) {
    Frame& frame = frames_.back();
    const Value::Object& members = *frame.value.if_object();
    if (is_duplicate(frame, members, name)) return refuse("duplicate key '" + name + "'");
    frame.key = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ...":
    // the end is the news.
    const std::string_view what = error.what();
    std::string_view tail = what;
    if (const std::size_t at = what.find(": "); at != std::string_view::npos)
      tail = what.substr(at + 2);
    if (tail.starts_with("syntax error ")) tail.remove_prefix(13);
    if (what.find("out_of_range") != std::string_view::npos) tail = "a number is too large";
    return refuse(std::string(tail));
  }
  // NOLINTEND(readability-identifier-naming)

  Value take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }

 private:
  struct Frame {
    Value value;
    std::string key;
    std::unordered_set<std::string> keys;  // filled for large objects only
  };

  static bool is_duplicate(Frame& frame, const Value::Object& members, const std::string& name) {
    constexpr std::size_t kSmall = 16;
    if (members.size() < kSmall) return frame.value.find(name) != nullptr;
    if (frame.keys.empty()) {
      for (const Value::Member& member : members) frame.keys.insert(member.first);
    }
    return !frame.keys.insert(name).second;
  }

  // The library reads "-0" as the integer 0; JavaScript keeps the sign. It has read one byte
  // beyond, unless at the end.
  bool is_minus_zero() const {
    const auto read = static_cast<std::size_t>(*at_ - text_.data());
    const std::string_view seen = text_.substr(0, read);
    const bool at_end = read == text_.size() && seen.ends_with("-0");
    return at_end || (seen.size() > 2 && seen.substr(0, seen.size() - 1).ends_with("-0"));
  }

  bool refuse(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }

  bool put(Value value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Frame& frame = frames_.back();
    if (Value::Array* array = frame.value.if_array()) {
      array->push_back(std::move(value));
    } else {
      frame.value.if_object()->emplace_back(std::move(frame.key), std::move(value));
    }
    return true;
  }

  bool open(Value value) {
    if (frames_.size() >= max_depth_) {
      return refuse("nested deeper than " + std::to_string(max_depth_) + " levels");
    }
    frames_.push_back({std::move(value), {}, {}});
    return true;
  }

  bool close() {
    Value value = std::move(frames_.back().value);
    frames_.pop_back();
    return put(std::move(value));
  }

  std::string_view text_;
  const char* const* at_;
  std::size_t max_depth_;
  std::vector<Frame> frames_;
  Value root_;
  std::string problem_;
};

std::string place(std::string_view text, std::size_t offset) {
  std::size_t line = 1;
  std::size_t start = 0;
  for (std::size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++line;
      start = i + 1;
    }
  }
  const std::size_t column = offset > start ? offset - start : 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

Result<Value> parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return failure("package/json", "the JSON text has " + std::to_string(text.size()) +
                                       " bytes, allowed are " + std::to_string(limits.max_bytes));
  }
  const char* at = text.data();
  Builder builder(text, &at, limits.max_depth);
  const Feed begin(text.data(), &at);
  const Feed end(text.data() + text.size(), &at);
  if (nlohmann::json::sax_parse(begin, end, &builder)) return builder.take();
  return failure("package/json", place(text, static_cast<std::size_t>(at - text.data())) + ": " +
                                     builder.problem());
}

}  // namespace wgk::json
