// SPDX-License-Identifier: Apache-2.0
// The reference's textual pre-processing (format.md c.2): trimming is substitution over the whole
// source, before anything is parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wgk::expr {

// Text to parse, and the way back to where its bytes came from.
class Source {
 public:
  // Drops one final newline, blanks before a block at the start of a line, a newline after a block,
  // and `generation` tags.
  explicit Source(std::string_view original);

  const std::string& text() const { return text_; }
  // Place in the original of a byte of text().
  std::size_t original_offset(std::size_t offset) const;

 private:
  struct Cut {
    std::size_t at;       // place in the shortened text
    std::size_t removed;  // bytes that stood before it
  };

  void strip_blocks(std::string_view original);
  void remove_generation_tags();

  std::string text_;
  std::vector<Cut> block_cuts_;
  std::vector<Cut> tag_cuts_;
};

}  // namespace wgk::expr
