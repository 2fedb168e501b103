// SPDX-License-Identifier: Apache-2.0
#include "verify/stated_work.h"

#include <cmath>

#include "base/try.h"
#include "plan/render.h"
#include "plan/session.h"

namespace wgk::verify {

Result<StatedWork> stated_work(const package::Package& package, const package::BenchCase& bench,
                               const Request& request, const DeviceCaps& caps) {
  StatedWork work;
  if (!bench.bytes && !bench.flops) return work;
  const PlanOptions options;
  planning::RenderCache texts;
  const planning::Site site(package, caps, options, texts);
  const planning::Session session(site, request);
  const auto number = [&](std::string_view name,
                          const expr::Rule& rule) -> Result<std::optional<double>> {
    auto value = session.evaluate(rule);
    const std::string where = std::string(name) + " of the benchmark case '" + bench.name + "'";
    if (!value) return std::unexpected(std::move(value).error().during("evaluating " + where));
    const expr::Number* given = value->if_number();
    if (given == nullptr || !std::isfinite(given->value) || given->value < 0)
      return failure("package/cases", where + " must be a finite number of at least 0");
    return std::optional(given->value);
  };
  if (bench.bytes) {
    WGK_ASSIGN(work.bytes, number("bytes", *bench.bytes));
  }
  if (bench.flops) {
    WGK_ASSIGN(work.flops, number("flops", *bench.flops));
  }
  return work;
}

}  // namespace wgk::verify
