// SPDX-License-Identifier: Apache-2.0
#include "plan/expand.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/try.h"
#include "plan/allowance.h"
#include "plan/index.h"
#include "plan/infer.h"

namespace wgk::planning {
namespace {

using expr::Value;
using package::Pass;
using package::Repeat;
using package::Step;

constexpr std::size_t kRoundsPerPass = 16;  // rounds may be without passes, but not for ever
constexpr double kMaxCount = 65535;

using Members = std::vector<std::pair<std::string, Value>>;

class Expander {
 public:
  Expander(const expr::Scope& scope, const expr::Limits& limits, std::size_t max_passes)
      : scope_(scope), limits_(limits), max_passes_(max_passes) {}

  // `outer` holds the named indices and counts of the enclosing groups.
  Status expand(const std::vector<Step>& steps, const std::string& prefix, const Members& outer,
                const Value& repeat) {
    for (const Step& step : steps) {
      if (const auto* group = std::get_if<std::shared_ptr<const Repeat>>(&step)) {
        WGK_TRY(expand_group(**group, prefix, outer, repeat));
        continue;
      }
      if (instances_.size() == max_passes_) return too_many();
      const Pass& pass = std::get<Pass>(step);
      WGK_TRY(spend_name(prefix.size() + pass.id.size()));
      instances_.push_back({&pass, prefix + pass.id, repeat});
    }
    return {};
  }

  std::vector<PassInstance> take() { return std::move(instances_); }

 private:
  // Names of any length are made anew for each instance.
  Status spend_name(std::size_t bytes) const { return spend(limits_, bytes / 4); }
  std::unexpected<Error> too_many() const {
    return failure("limit/count",
                   "the variant has more than " + std::to_string(max_passes_) + " pass instances");
  }

  Status expand_group(const Repeat& group, const std::string& prefix, const Members& outer,
                      const Value& repeat) {
    expr::Scope scope(&scope_);
    scope.set("repeat", repeat);
    auto count = group.count.evaluate(scope, limits_);
    if (!count)
      return std::unexpected(
          std::move(count.error())
              .during("evaluating the count of repeat group " + quoted(group.id)));
    const expr::Number* number = count->if_number();
    if (number == nullptr || !(number->value >= 0) || number->value > kMaxCount ||
        number->value != std::trunc(number->value)) {
      return failure("plan/rule", "repeat group " + quoted(group.id) + " has count " +
                                      shown(*count) + "; expected an integer from 0 to 65535");
    }
    const auto rounds = static_cast<std::size_t>(number->value);
    for (std::size_t round = 0; round < rounds; ++round) {
      if (++rounds_ > kRoundsPerPass * max_passes_) return too_many();
      WGK_TRY(spend_name(prefix.size() + group.id.size() + 2 * group.index.size()));
      Members own = outer;
      own.emplace_back(group.index, Value(round));
      own.emplace_back(group.index + "_count", Value(rounds));
      Members all = {{"index", Value(round)}, {"count", Value(rounds)}};
      all.insert(all.end(), own.begin(), own.end());
      WGK_TRY(expand(group.steps, prefix + group.id + "[" + std::to_string(round) + "].", own,
                     Value::object(std::move(all))));
    }
    return {};
  }

  const expr::Scope& scope_;
  const expr::Limits& limits_;
  std::size_t max_passes_;
  std::size_t rounds_ = 0;
  std::vector<PassInstance> instances_;
};

Status check_unique(const std::vector<PassInstance>& instances) {
  std::vector<std::string_view> ids;
  ids.reserve(instances.size());
  for (const PassInstance& instance : instances) ids.push_back(instance.id);
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice == ids.end()) return {};
  return failure("plan/rule", "two passes have the id " + quoted(*twice));
}

}  // namespace

Result<std::vector<PassInstance>> expand_passes(const package::Variant& variant,
                                                const expr::Scope& scope,
                                                const expr::Limits& limits,
                                                std::size_t max_passes) {
  Expander expander(scope, limits, max_passes);
  WGK_TRY(expander.expand(variant.steps, "", {}, Value::object({})));
  std::vector<PassInstance> instances = expander.take();
  if (instances.empty())
    return failure("plan/rule",
                   "variant " + quoted(variant.id) + " has no pass left: every repeat count is 0");
  WGK_TRY(check_unique(instances));
  return instances;
}

}  // namespace wgk::planning
