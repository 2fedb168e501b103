// SPDX-License-Identifier: Apache-2.0
// Callable values: helpers, methods bound to a value, and macros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "expr/value.h"

namespace wgk::expr {

// What a native function may ask of the engine that calls it.
class CallContext {
 public:
  virtual ~CallContext() = default;

  // Records the error of this call and returns false: `return call.fail("fill() needs a count")`.
  virtual bool fail(std::string message) = 0;
  // The error that a template raises itself.
  virtual bool raise(std::string message) = 0;
  // Counts work or list items against the limits; false (with the error recorded) when they are
  // used up.
  virtual bool charge(std::size_t steps) = 0;
  // The same for the bytes of a text that is built.
  virtual bool charge_text(std::size_t bytes) = 0;
  // Nesting of a value beyond what the engine walks.
  virtual bool fail_depth() = 0;
};

// Writes the result and returns true, or returns call.fail(...). `bound` is the value given to the
// function when it was made.
using Native = bool (*)(CallContext& call, const Value& bound, std::span<const Value> args,
                        Value& result);

struct Function {
  std::string name;
  Native native = nullptr;
  Value bound = {};
  // Arguments and result cross as plain values: null arguments become undefined, an undefined
  // result null, numbers lose their tags.
  bool plain = true;
  // Macros and call blocks (native is null): which one, and what it closes over.
  std::uint32_t macro = 0;
  std::shared_ptr<void> closure = nullptr;
};

// A function over plain values for scopes, for instance f16Ok.
Value native_function(std::string name, Native native, Value bound = {});

}  // namespace wgk::expr
