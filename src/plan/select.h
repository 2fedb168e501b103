// SPDX-License-Identifier: Apache-2.0
// Which variants fit, and why the others do not (format.md b.5).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expression.h"
#include "plan/index.h"
#include "wgk/device_caps.h"

namespace wgk::planning {

enum class Verdict : std::uint8_t {
  kEligible,
  kDemoted,
  kRequires,
  kBindings,
  kWhen,
  kError,
  kSuperseded,
  kBroken,
  kDemoteError
};

std::string_view text(Verdict verdict);

struct Decision {
  Verdict verdict = Verdict::kEligible;
  std::string reason;  // empty when eligible, and when no reasons were asked for
};

// What the clauses of a package give in one scope. Many variants share clauses; each is evaluated
// once.
class ClauseValues {
 public:
  enum class Outcome : std::uint8_t { kUnknown, kTrue, kOther, kError };

  // `known` has what is certain before, one for each clause, or nothing.
  ClauseValues(const PackageIndex& index, const expr::Scope& scope, const expr::Limits& limits,
               const expr::Limits& reason_limits, const std::vector<Outcome>& known)
      : index_(index),
        scope_(scope),
        limits_(limits),
        reason_limits_(reason_limits),
        known_(known) {
    known_.resize(index.clauses.size());
  }

  Outcome operator[](std::size_t clause);
  // For reasons: why one is an error or not true.
  std::string failure_of(std::size_t clause) const;
  std::string why_not_true(std::size_t clause) const;
  const std::string& text(std::size_t clause) const { return index_.clauses[clause]->text(); }

 private:
  const PackageIndex& index_;
  const expr::Scope& scope_;
  const expr::Limits& limits_;
  const expr::Limits& reason_limits_;  // reasons take nothing from what is judged after them
  std::vector<Outcome> known_;
};

// Everything that judging variants needs. `rendered_has` says whether the rendered text of a
// variant uses a construct; a variant that cannot be rendered counts as free of it.
struct SelectContext {
  const PackageIndex& index;
  const DeviceCaps& caps;
  const std::vector<SubgroupMatrixConfig>& matrix_configs;  // usable ones
  double max_storage_buffers, max_uniform_buffers;          // per shader stage
  ClauseValues& clauses;                                    // over the manifest's derives
  std::function<bool(const package::Variant&, std::string_view construct)> rendered_has;
};

struct Selection {
  std::vector<std::optional<Decision>> decisions;  // manifest order; nothing: not looked at
  std::optional<std::size_t> selected;
};

// Judges variants in order of priority. Stops at the winner unless `all`; gives reasons only when
// asked.
Selection select(const SelectContext& context, bool all, bool reasons);

// Judges one variant for itself; `supersededBy` is not looked at.
Decision judge(const SelectContext& context, std::size_t variant);

// "select/none" with each variant's reason, in manifest order.
Error no_variant(const PackageIndex& index, const Selection& selection);

}  // namespace wgk::planning
