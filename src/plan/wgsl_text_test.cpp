// SPDX-License-Identifier: Apache-2.0
#include "plan/wgsl_text.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace wgk::planning {
namespace {

TEST(WgslText, CommentsVanish) {
  EXPECT_EQ(without_comments("a // f16\nb"), "a  \nb");
  EXPECT_EQ(without_comments("a /* x /* y */ z */ b"), "a   b");
  EXPECT_EQ(without_comments("a /* open"), "a  ");
  EXPECT_EQ(without_comments("/"), "/");
  EXPECT_EQ(without_comments("a //"), "a  ");
}

TEST(WgslText, WordsAreWhole) {
  EXPECT_TRUE(has_word("x: f16;", "f16"));
  EXPECT_FALSE(has_word("my_f16 f16x", "f16"));
  EXPECT_TRUE(has_word("my_f16 f16", "f16"));
}

TEST(WgslText, HalvesAreEnabled) {
  for (const std::string text :
       {"a: f16;", "const a = 1h;", "const a = 1.0h;", "const a = .5h;", "const a = 1.h;",
        "const a = 1e-3h;", "const a = 0x1p3h;", "const a = 0X1.8P-3h;", "\"f16\"", "1h", "2-1h",
        "v.x5-.5h", "(v.y+0x.8p+1h)", "v.x1h, 2.h)", "1.5-2.5-3.5e+2h", "half 3h"}) {
    EXPECT_EQ(with_enables(text), "enable f16;\n" + text);
  }
  for (const std::string text : {"a: f32;", "// f16", "const a = x1h;", "const a = 0xabch;",
                                 "v.x5h", "a.5h", "1hx", "const a = .h;", "const a = 1eh;", "h",
                                 ".h", "f161", "f16x + 16", "1.2.3h", "..5h", "x-e5h"}) {
    EXPECT_EQ(with_enables(text), text);
  }
}

TEST(WgslText, PresentDirectivesAreKept) {
  for (const std::string text :
       {"enable f16;\nconst a = 1h;", "const b = 1;\n  enable f16;\nvar a: f16;",
        "enable subgroups, f16;\nvar a: f16;"}) {
    EXPECT_EQ(with_enables(text), text);
  }
  EXPECT_EQ(with_enables("// enable f16;\na: f16;"), "enable f16;\n// enable f16;\na: f16;");
  EXPECT_EQ(with_enables("enable f16x;\na: f16;"), "enable f16;\nenable f16x;\na: f16;");
  EXPECT_EQ(with_enables("x enable f16;"), "enable f16;\nx enable f16;");
  EXPECT_EQ(with_enables("enable\nsubgroups;\n\t enable\tf16 ;\nquadSwapY(1h)"),
            "enable\nsubgroups;\n\t enable\tf16 ;\nquadSwapY(1h)");
  EXPECT_EQ(with_enables("enable f16"), "enable f16;\nenable f16");
}

TEST(WgslText, SubgroupsAreEnabled) {
  for (const std::string text :
       {"subgroupAdd(1u)", "a = subgroupBroadcastFirst (1u)", "quadSwapX(1u)",
        "@builtin(subgroup_size) a", "@builtin( num_subgroups ) a"}) {
    EXPECT_EQ(with_enables(text), "enable subgroups;\n" + text);
  }
  for (const std::string text :
       {"subgroupSizeX(1u)", "subgroupAdd", "mysubgroupAdd(1u)", "subgroupMatrixLoad(a)",
        "@builtin(position) a", "subgroup_size", "@subgroupAdd(1)", "@builtin subgroup_size",
        "quad(1)", "b(1)", "q(1)", "@ builtin(subgroup_id)"}) {
    EXPECT_EQ(with_enables(text), text);
  }
  EXPECT_EQ(with_enables("@subgroup_size(32) fn f() { subgroupMax(1.0h); }"),
            "enable f16;\nenable subgroups;\nenable subgroup_size_control;\n@subgroup_size(32) fn "
            "f() { subgroupMax(1.0h); }");
}

TEST(WgslText, EnabledFeatures) {
  EXPECT_EQ(
      enabled_features("enable f16;\nenable subgroups, chromium_experimental_subgroup_matrix;\n"),
      (std::vector<std::string>{"chromium-experimental-subgroup-matrix", "shader-f16",
                                "subgroups"}));
  EXPECT_TRUE(enabled_features("fn enable() {}").empty());
}

TEST(WgslText, LongTextsOfOpaqueIntegersAreWalkedOnce) {
  std::string locals, open, chain;
  for (int i = 0; i < 100000; ++i) {
    const std::string number = std::to_string(i);
    locals += "let v" + number + " = x[" + number + "];\n";
    open += "f(x[";
    chain += "a = x[0] ";
  }
  EXPECT_TRUE(check_opaque_int64(locals, "x"));
  EXPECT_FALSE(check_opaque_int64(locals + "let w = v99999 + 1;", "x"));
  EXPECT_TRUE(check_opaque_int64(open, "x"));
  EXPECT_FALSE(check_opaque_int64(chain, "x"));
}

TEST(WgslText, OpaqueIntegersMayOnlyBeMoved) {
  for (const std::string_view text : {
           "@group(0) @binding(0) var<storage, read> e: array<vec2<u32>>; let n = arrayLength(&e);",
           "let v = e[0]; let w = select(v, e[1], y[0] > 0.0); o[0] = w;",
           "o[i] = e[idx[i + 1] * 2];",
           "fn f() -> vec2<u32> { return e[3]; }",
           "e[4] = o[1];",
           "var v = e[2]; if (a) { v = e[1]; } o[0] = v;",
           "store(i, e[i]);",
           "let e2 = other.e + 1;",
       }) {
    EXPECT_TRUE(check_opaque_int64(text, "e")) << text;
  }
  for (const std::string_view text :
       {"let a = e[0].x;", "let a = e[0] + e[1];", "let a = 1u - e[0];", "if (e[0] == b) {}",
        "if (b == e[0]) {}", "let a = e[i][1];", "let v = e[0]; let a = v.x;",
        "let v = e[0]; let a = v * 2u;", "o += e[0];", "e[0]++;"}) {
    EXPECT_FALSE(check_opaque_int64(text, "e")) << text;
  }
}

}  // namespace
}  // namespace wgk::planning
