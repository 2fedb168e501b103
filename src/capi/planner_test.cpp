// SPDX-License-Identifier: Apache-2.0
// Planning in C with all that C++ can say, and without a device.
#include <gtest/gtest.h>

#include <vector>

#include "capi/test_support.h"

namespace wgk::capi {
namespace {

// A request as the planner sees it, with everything that a C++ Request can say.
struct PlannerRequest {
  std::vector<float> gamma_values = std::vector<float>(8, 1.0F);
  wgk_tensor_desc inputs[3] = {desc("input", kMatrix, 2), desc("skip", kMatrix, 2),
                               desc("gamma", kRow, 1)};
  wgk_tensor_desc destination = desc(nullptr, kMatrix, 2);
  wgk_output_desc outputs[1] = {{"output", nullptr, 0, WGK_DTYPE_DEFAULT, nullptr}};
  wgk_request request = WGK_REQUEST_INIT;

  static wgk_tensor_desc desc(const char* name, const int64_t* shape, size_t rank) {
    wgk_tensor_desc made = {};
    made.name = name;
    made.shape = shape;
    made.rank = rank;
    made.dtype = WGK_F32;
    made.storage = made.host_array = WGK_DTYPE_DEFAULT;
    return made;
  }
  PlannerRequest() {
    inputs[2].host_data = gamma_values.data();
    inputs[2].host_size = gamma_values.size() * sizeof(float);
    request.inputs = inputs;
    request.input_count = 3;
  }
};

TEST(CPlanner, PlansWhatPackagesPlan) {
  Errors errors;
  Text text, plain;
  wgk_package* package = nullptr;
  ASSERT_EQ(wgk_package_open(kPackage, &package, errors.at()), WGK_OK) << errors.text();
  wgk_planner* planner = nullptr;
  const char* caps = R"({"features": ["shader-f16"]})";
  ASSERT_EQ(wgk_planner_create(package, caps, nullptr, &planner, errors.at()), WGK_OK)
      << errors.text();
  ASSERT_EQ(wgk_planner_info(planner, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("com.microsoft.SkipSimplifiedLayerNormalization"));
  EXPECT_TRUE(text.contains("shader-f16"));

  PlannerRequest given;
  ASSERT_EQ(wgk_planner_plan(planner, &given.request, text.at(), errors.at()), WGK_OK)
      << errors.text();
  const wgk_signature_input inputs[] = {{"input", WGK_F32, kMatrix, 2, WGK_DTYPE_DEFAULT, false, 0},
                                        {"skip", WGK_F32, kMatrix, 2, WGK_DTYPE_DEFAULT, false, 0},
                                        {"gamma", WGK_F32, kRow, 1, WGK_DTYPE_DEFAULT, false, 0}};
  wgk_signature call = WGK_SIGNATURE_INIT;
  call.inputs = inputs;
  call.input_count = 3;
  ASSERT_EQ(wgk_package_plan(package, &call, caps, plain.at(), errors.at()), WGK_OK);
  EXPECT_STREQ(text.text, plain.text);
  ASSERT_EQ(wgk_planner_explain(planner, &given.request, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("selected"));

  // The planner outlives the package's handle.
  wgk_package_free(package);
  given.outputs[0].destination = &given.destination;
  given.request.outputs = given.outputs;
  given.request.output_count = 1;
  EXPECT_EQ(wgk_planner_plan(planner, &given.request, text.at(), errors.at()), WGK_OK)
      << errors.text();
  EXPECT_EQ(wgk_planner_plan(planner, nullptr, text.at(), errors.at()), WGK_ERROR_USAGE);
  given.inputs[0].name = nullptr;
  EXPECT_EQ(wgk_planner_plan(planner, &given.request, text.at(), errors.at()), WGK_ERROR_USAGE);
  given.inputs[0].name = "input";
  given.inputs[0].dtype = 77;
  EXPECT_EQ(wgk_planner_plan(planner, &given.request, text.at(), errors.at()), WGK_ERROR_USAGE);
  given.inputs[0].dtype = WGK_F32;
  given.inputs[2].host_size = 4;
  EXPECT_NE(wgk_planner_plan(planner, &given.request, text.at(), errors.at()), WGK_OK)
      << "contents that are shorter than the shape";
  wgk_planner_free(planner);
  wgk_planner_free(nullptr);
}

TEST(CPlanner, BendsTheRules) {
  Errors errors;
  Text text;
  wgk_package* package = nullptr;
  ASSERT_EQ(wgk_package_open(kPackage, &package, errors.at()), WGK_OK) << errors.text();
  const auto plan = [&](const wgk_plan_options& options, PlannerRequest& given) {
    wgk_planner* planner = nullptr;
    wgk_status status = wgk_planner_create(package, nullptr, &options, &planner, errors.at());
    if (status == WGK_OK)
      status = wgk_planner_plan(planner, &given.request, text.at(), errors.at());
    wgk_planner_free(planner);
    return status;
  };
  PlannerRequest given;
  wgk_plan_options options = WGK_PLAN_OPTIONS_INIT;
  EXPECT_EQ(plan(options, given), WGK_OK) << errors.text();

  options.limits = R"({"steps": 3})";
  EXPECT_EQ(plan(options, given), WGK_ERROR_LIMIT);
  EXPECT_EQ(errors.code(), "limit/steps");
  options.limits = R"({"stops": 3})";
  EXPECT_EQ(plan(options, given), WGK_ERROR_USAGE);
  options = WGK_PLAN_OPTIONS_INIT;

  // An offset that no device binds.
  for (wgk_tensor_desc& input : given.inputs) {
    input.on_device = true;
    input.host_data = nullptr;
    input.host_size = 0;
  }
  given.inputs[0].has_range = true;
  given.inputs[0].buffer = 1;
  given.inputs[0].offset = 4;
  given.inputs[0].size = 4096;
  EXPECT_NE(plan(options, given), WGK_OK);
  options.no_check_bindings = true;
  EXPECT_EQ(plan(options, given), WGK_OK) << errors.text();

  int asked = 0;
  options = WGK_PLAN_OPTIONS_INIT;
  options.template_user = &asked;
  options.template_at_hand = [](const char* path, void* user) {
    *static_cast<int*>(user) += path != nullptr ? 1 : 0;
    return true;
  };
  given.inputs[0].has_range = false;
  wgk_planner* planner = nullptr;
  ASSERT_EQ(wgk_planner_create(package, R"({"wgslCompileFailures": ["f16Bitcast"]})", &options,
                               &planner, errors.at()),
            WGK_OK)
      << errors.text();
  EXPECT_EQ(wgk_planner_explain(planner, &given.request, text.at(), errors.at()), WGK_OK);
  EXPECT_GT(asked, 0);
  wgk_planner_free(planner);
  wgk_package_free(package);
}

}  // namespace
}  // namespace wgk::capi
