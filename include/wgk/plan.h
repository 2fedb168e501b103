// SPDX-License-Identifier: Apache-2.0
// A plan: everything an executor must do for one call, as data. Canonical JSON; byte-identical on
// every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgk/device_caps.h"
#include "wgk/dtype.h"
#include "wgk/error.h"
#include "wgk/json.h"
#include "wgk/limits.h"
#include "wgk/request.h"

namespace wgk {

namespace package {
struct Package;
}

enum class BindingType : std::uint8_t { kReadOnlyStorage, kStorage, kUniform };

// A tensor of the call as a device buffer holds it.
struct PlanTensor {
  std::string port;            // bind key
  DType dtype = DType::f32;    // logical
  DType storage = DType::f32;  // what the buffer holds
  bool packed = false;
  Shape shape;
  std::uint64_t byte_length = 0;             // exact bytes of the elements in device form
  std::uint64_t buffer_size = 0;             // max(4, byte_length rounded up to 4)
  bool is_input = false, is_output = false;  // both: in place
  std::optional<std::string>
      narrowing;  // "checked" or "saturating" where the host uploads int64 into 32 bits
};

struct PlanScratch {
  std::string id;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t byte_length = 0, buffer_size = 0;
  bool zero_init = false;  // must be zero before the first pass
  // With zero_init: the passes leave it zero again, so whoever keeps the buffer for this plan alone
  // clears it once, when it is made, and not before each run.
  bool kept_zero = false;
  bool allocated = true;  // false: no live pass binds it
};

struct PlanBinding {
  std::uint32_t index = 0;  // @binding; @group is always 0
  BindingType type = BindingType::kReadOnlyStorage;
  std::string name;  // WGSL variable
  enum class Resource : std::uint8_t { kTensor, kScratch, kUniform } resource = Resource::kTensor;
  std::size_t slot = 0;      // into Plan::tensors, Plan::scratch or PlanPass::uniforms
  std::uint64_t offset = 0;  // bytes into the buffer, for tensors given with a range
  std::uint64_t size = 0;    // bound bytes
};

struct PlanUniform {
  std::string name;              // WGSL variable
  std::vector<std::byte> bytes;  // a multiple of 16
  struct Field {
    std::string name, type;  // "u32", "i32", "f32"
    std::uint32_t offset = 0;
  };
  std::vector<Field> fields;  // padding left out
};

struct PlanPass {
  std::string id;                           // instance id: "group[2].pass"
  std::string label;                        // "<opId>.<variant>.<pass>"
  std::string shader;                       // template path
  std::shared_ptr<const std::string> wgsl;  // complete text, enables included
  std::string entry_point = "main";
  std::array<std::uint32_t, 3> dispatch = {1, 1, 1};
  std::vector<PlanBinding> bindings;
  std::vector<PlanUniform> uniforms;
  bool submit_after = false;
  std::vector<std::pair<std::string, Json>> profile;  // e.g. bytesMoved, flops
  std::array<std::uint8_t, 16> key =
      {};  // digest of (text, entry point, layout): names the pipeline
};

struct SkippedPass {
  std::string id;
  std::string reason;  // "zero_dispatch" or "view_alias"
};

struct Plan {
  std::string op_id;
  std::string variant;
  std::vector<PlanTensor>
      tensors;  // bound ports: inputs in manifest order, then outputs that are not in place
  std::vector<PlanScratch> scratch;  // those with allocated == true get a buffer
  std::vector<PlanPass> passes;      // live ones, in order
  std::vector<SkippedPass> skipped;
  std::vector<std::string> features;  // device features the passes need

  const PlanTensor* tensor(std::string_view port) const;
  std::uint64_t scratch_bytes() const;
  Json to_json(bool with_wgsl = true) const;  // canonical
};

// Why a variant was or was not taken. `verdict`: "selected", "eligible", "demoted", or what stopped
// it: "requires", "bindings", "when", "error", "superseded", "broken", "demote-error".
struct VariantDecision {
  std::string id;
  double priority = 0;
  std::string verdict;
  std::string reason;  // the clause, the operand that was not true and its value; the feature or
                       // limit missing
};

struct Explanation {
  std::vector<VariantDecision> decisions;  // manifest order
  std::optional<std::string> selected;
  std::optional<Error> error;      // when nothing fits or the request is wrong
  std::vector<std::string> notes;  // e.g. value rules skipped because a tensor is on the device
  Json to_json() const;
};

// Bends of the rules that only a few callers need.
struct PlanOptions {
  // What one plan may cost ("limit/steps", "limit/output", "limit/depth", "limit/count"). None:
  // what the package was loaded with.
  std::optional<Limits> limits = {};
  // Refuse what the device would refuse to bind: sizes above the binding limits, offsets that are
  // not aligned. The published loader leaves that to the device.
  bool check_bindings = true;
  // The published loader fetches templates after selection, so it cannot judge known broken
  // constructs of variants whose templates it does not have yet. Null: every template is at hand,
  // as in a loaded package.
  std::function<bool(std::string_view path)> template_at_hand;
};

// The pure planner. `explain` gives decisions also where `plan` fails. The package must outlive the
// call only.
Result<Plan> plan(const package::Package& package, const Request& request, const DeviceCaps& caps,
                  const PlanOptions& options = {});
Explanation explain(const package::Package& package, const Request& request, const DeviceCaps& caps,
                    const PlanOptions& options = {});

// The planner of one package on one device: keeps what only depends on these two, renderings by the
// values that templates read, and plans by the signature of the request. A cheap handle; copies
// share. Every member may be called from any thread.
class Planner {
 public:
  Planner(std::shared_ptr<const package::Package> package, DeviceCaps caps,
          PlanOptions options = {});

  const package::Package& package() const;
  const DeviceCaps& caps() const;

  // A known signature (all but values, names of buffers and the order of nothing) gives the same
  // plan object again. What depends on values of host tensors is checked on every call.
  Result<std::shared_ptr<const Plan>> plan(const Request& request) const;
  Explanation explain(const Request& request) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace wgk
