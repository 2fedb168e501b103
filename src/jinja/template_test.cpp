// SPDX-License-Identifier: Apache-2.0
#include "jinja/template.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace wgk::jinja {
namespace {

std::string rendered(std::string_view text, std::string_view context = "{}",
                     const expr::Limits& limits = {}) {
  const Result<std::string> result = render_text(text, json::parse(context).value(), limits);
  return result ? *result : result.error().code;
}

TEST(Template, ErrorsNameFileAndLine) {
  const Error syntax = Template::parse("a\n\n{% if x %}\n{{ 1 + }}", "norm.wgsl.jinja").error();
  EXPECT_EQ(syntax.code, "template/syntax");
  EXPECT_EQ(syntax.message, "unexpected '}}' in norm.wgsl.jinja, line 4");
  const Template late =
      Template::parse("a\n  {# c #}\n{% for i in [1] %}\n\n{{ i < 'a' }}{% endfor %}", "t").value();
  const Error type = late.render(expr::Scope()).error();
  EXPECT_EQ(type.code, "template/type");
  EXPECT_EQ(type.message, "'<' does not work between an int and a string");
  EXPECT_EQ(type.context.at(0), "rendering t, line 5");
  EXPECT_EQ(rendered("{{ raise_exception('x') }}"), "template/raised");
  EXPECT_EQ(rendered("{% break %}"), "template/type");
  EXPECT_EQ(rendered("{% macro m() %}{% continue %}{% endmacro %}{% for i in [1, 2] %}{{ i }}{{ "
                     "m() }}{% endfor %}"),
            "");
}

TEST(Template, LimitsHold) {
  const std::string open(20000, '(');
  EXPECT_EQ(rendered("{{ " + open + " }}"), "limit/depth");
  std::string blocks;
  for (int i = 0; i < 20000; ++i) blocks += "{% if 1 %}";
  EXPECT_EQ(rendered(blocks), "limit/depth");
  std::string branches = "{% if 0 %}";
  for (int i = 0; i < 20000; ++i) branches += "{% elif 0 %}";
  EXPECT_EQ(rendered(branches + "{% else %}x{% endif %}"), "x");
  EXPECT_EQ(rendered("{#" + std::string(400000, 'c') + "#}x"), "x");
  EXPECT_EQ(rendered("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "limit/depth");
  EXPECT_EQ(rendered("{% for i in range(1000000000) %}{% endfor %}"), "limit/steps");
  EXPECT_EQ(rendered("{% for i in range(1000) %}{% for j in range(1000) %}{% for k in range(1000) "
                     "%}{% endfor %}{% endfor %}{% endfor %}"),
            "limit/steps");
  EXPECT_EQ(
      rendered("{% for i in range(9) %}{{ 'abcdefgh' }}{% endfor %}", "{}", {.max_output = 64}),
      "limit/output");
  EXPECT_EQ(rendered("{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s ~ "
                     "ns.s %}{% endfor %}"),
            "limit/output");
  EXPECT_EQ(rendered("{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = [ns.x] "
                     "%}{% endfor %}{{ ns.x }}"),
            "limit/depth");
  EXPECT_EQ(rendered("{% set ns = namespace(x=1) %}{% set ns.x = ns %}{{ ns }}"), "limit/depth");
}

TEST(Template, ThingsThatHoldThemselvesAreFreed) {
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% set ns.me = [ns] %}x"), "x");
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% macro m() %}{% set ns.c = caller %}{% endmacro "
                     "%}{% call m() %}late{% endcall %}{{ ns.c() }}"),
            "late");
}

TEST(Template, UnknownNamesPrintNothing) {
  EXPECT_EQ(rendered("[{{ nosuch }}{{ nosuch.a }}{{ none }}]"), "[]");
  EXPECT_EQ(rendered("{{ nosuch() }}"), "template/type");
}

TEST(Template, ListsTheNamesItReads) {
  const Template parsed = Template::parse(
                              "{% set a = x %}{{ a }}{% if c %}{% set d = 1 %}{% set e = 1 %}{% "
                              "else %}{% set d = 2 %}{% endif %}{{ d }}{{ e }}"
                              "{% for i in items if i > low %}{{ i }}{{ loop.index }}{% set f = 1 "
                              "%}{% endfor %}{{ f }}{{ i }}"
                              "{% macro m(p, q=dflt) %}{{ p }}{{ g }}{{ caller() }}{{ varargs }}{% "
                              "endmacro %}{{ m(1) }}{{ range(2) }}{{ true }}"
                              "{% call(u) m(2) %}{{ u }}{{ h }}{% endcall %}{% filter indent(w) "
                              "%}{{ t }}{% endfilter %}",
                              "t")
                              .value();
  EXPECT_EQ(parsed.free_names(), (std::vector<std::string>{"x", "c", "e", "items", "low", "f", "i",
                                                           "dflt", "g", "h", "t", "w"}));
  EXPECT_EQ(parsed.assigned_names(), (std::vector<std::string>{"a", "d", "e", "f", "i", "m"}));
}

class Includes : public testing::Test {
 protected:
  Result<std::string> expand(std::string_view path) { return expand_includes(path, loader()); }
  Loader loader() {
    return [this](std::string_view path) -> const std::string* {
      const auto found = files.find(std::string(path));
      return found == files.end() ? nullptr : &found->second;
    };
  }
  std::map<std::string, std::string> files;
};

TEST_F(Includes, ReplaceTheirLine) {
  files = {{"main.jinja",
            "a\n  {% include \"lib/b.jinja\" %}  \nc{% include 'lib/b.jinja' %}d\n{#{% include "
            "\"/x\" %}#}"},
           {"lib/b.jinja", "B{% include \"./c\" %}{% include \"..\\x\" %}\n"},
           {"lib/c", "C"},
           {"x", "X"}};
  EXPECT_EQ(expand("main.jinja").value(), "a\nBCX\ncBCX\nd\n{#X#}");
}

TEST_F(Includes, RefuseWhatCannotBe) {
  files = {{"a", "1\n{% include \"b\" %}"},           {"b", "{% include \"a\" %}"},
           {"up", "{% include \"../x\" %}"},          {"d/up", "{% include \"./../../x\" %}"},
           {"none", "x\n\n{% include \"nosuch\" %}"}, {"dash", "{%- include \"b\" %}"}};
  EXPECT_EQ(expand("a").error().to_string(),
            "error[template/include]: the include 'a' includes itself\n"
            "  while expanding 'b', line 1\n  while expanding 'a', line 2");
  EXPECT_EQ(expand("up").error().message, "the include '../x' leaves the package");
  EXPECT_EQ(expand("d/up").error().message, "the include './../../x' leaves the package");
  EXPECT_EQ(expand("none").error().to_string(),
            "error[template/include]: there is no file 'nosuch'\n  while expanding 'none', line 3");
  EXPECT_EQ(expand("nosuch").error().code, "template/include");
  EXPECT_EQ(expand("dash").value(), files["dash"]);
  EXPECT_EQ(Template::load("dash", loader()).error().code, "template/syntax");
}

TEST_F(Includes, GrowthIsLimited) {
  files = {{"a0", "{% include \"a1\" %}{% include \"a1\" %}"}};
  for (int i = 1; i < 60; ++i) {
    const std::string next = "{% include \"a" + std::to_string(i + 1) + "\" %}";
    files["a" + std::to_string(i)] = next + next;
  }
  files["a60"] = "xxxxxxxxxxxxxxxx";
  const std::string code = expand("a0").error().code;
  EXPECT_TRUE(code == "limit/steps" || code == "limit/output") << code;
}

TEST(Template, CostsGrowWithItsLengthOnly) {
  // Minutes and, for the longest templates, hours if anything were searched from front to back.
  std::string prints, sets, macros, branches;
  for (int i = 0; i < 100000; ++i) {
    const std::string name = "a" + std::to_string(i);
    prints += "{{ " + name + " }}";
    sets += "{% set " + name + " = 1 %}";
    macros += "{% macro " + name + "() %}x{% endmacro %}";
    branches += "{% if a %}{% set " + name + " = 1 %}{% endif %}{{ " + name + " }}";
  }
  EXPECT_EQ(rendered(prints), "");
  EXPECT_EQ(rendered(sets + "{{ a99999 }}{{ a0 }}"), "11");
  EXPECT_EQ(rendered(macros + "{{ a99999() }}"), "x");
  EXPECT_EQ(rendered(branches), "");
  std::string parameters;
  for (int i = 0; i < 400000; ++i) parameters += "a" + std::to_string(i) + ",";
  EXPECT_EQ(rendered("{% macro m(" + parameters + ") %}x{{ a399999 }}{% endmacro %}{{ m() }}"),
            "x");
  // Lines are counted on, not from the beginning for each include.
  std::string includes;
  for (int i = 0; i < 90000; ++i) includes += "{% include \"e\" %}\n{# a comment behind it #}\n";
  const Loader loader = [&](std::string_view name) {
    static const std::string kEmpty;
    return name == "t" ? &includes : &kEmpty;
  };
  const auto all = Template::load("t", loader, {.max_steps = 100'000'000});
  ASSERT_TRUE(all) << all.error().to_string();
  includes += "{{ (1 }}";
  const auto last = Template::load("t", loader, {.max_steps = 100'000'000});
  ASSERT_FALSE(last);
  EXPECT_NE(last.error().message.find("t, line 180001"), std::string::npos) << last.error().message;
  EXPECT_EQ(Template::parse(branches, "t").value().free_names().size(), 100001U);
}

TEST(Template, LooksThroughTextsAtACost) {
  const std::string context = R"({"s": ")" + std::string(500000, 'z') + R"("})";
  for (const char* use : {"'zy' in s", "s == s ~ ''", "s.strip()", "s.startswith(s)", "s is lower",
                          "s.length", "s|trim", "s in [s, s]", "s == 1", "1 == s", "[s, s]|sort",
                          "s[499999]", "s[-1]", "{s: 1}[s]", "[{s: 1}]|map(attribute=s)",
                          "[{s: 1}]|sort(attribute=s)", "{'a': s, 'b': s}.dictsort(by='value')"}) {
    const std::string text =
        "{% for i in range(1000000) %}{% set t = " + std::string(use) + " %}{% endfor %}";
    const std::string code = rendered(text, context);
    EXPECT_TRUE(code == "limit/steps" || code == "limit/output") << use << ": " << code;
  }
}

TEST(Template, LooksThroughNamesAtACost) {
  std::string names;
  for (int i = 0; i < 20000; ++i) names += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\": 1";
  const std::string context = R"({"d": {)" + names + "}}";
  for (const char* use : {"d.k19999", "d['k19999']", "d.nothing", "d.get('k19999')", "'no' in d",
                          "[d]|map(attribute='k19999')", "[d]|selectattr('k19999')",
                          "[d]|sort(attribute='k19999')"}) {
    const std::string text =
        "{% for i in range(500000) %}{% set t = " + std::string(use) + " %}{% endfor %}";
    EXPECT_EQ(rendered(text, context), "limit/steps") << use;
  }
}

TEST(Template, DeepAndSharedListsMeetALimit) {
  const std::string deep =
      "{% set ns = namespace(s=[1]) %}{% for i in range(100000) %}{% set ns.s = [ns.s] %}{% endfor "
      "%}";
  const std::string wide =
      "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% "
      "endfor "
      "%}";
  const auto with_helpers = [](const std::string& text) {
    const auto result = Template::parse(text, "t").value().render(expr::Scope(&expr::helpers()));
    return result ? *result : result.error().code;
  };
  for (const char* call :
       {"pick([[true, ns.s]])", "fill(ns.s, 2)", "prefix(ns.s, 1)", "moveAxis(ns.s, 0, 0)"}) {
    EXPECT_EQ(with_helpers(deep + "{{ " + call + " | length }}"), "limit/depth") << call;
    EXPECT_EQ(with_helpers(wide + "{{ " + call + " | length }}"), "limit/steps") << call;
  }
}

TEST(Template, NamesThatAreSurelySetAreItsOwn) {
  const auto free_names = [](std::string_view text) {
    return Template::parse(text, "t").value().free_names();
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(free_names("{% if c %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}"),
            Names{"c"});
  EXPECT_EQ(free_names("{% if c %}{% set a = 1 %}{% elif d %}{% else %}{% set a = 2 %}{% endif %}"
                       "{{ a }}"),
            (Names{"c", "d", "a"}));
  EXPECT_EQ(free_names("{% if c %}{% if d %}{% set a = 1 %}{% else %}{% set a = 1 %}{% endif %}"
                       "{% else %}{% set a = 2 %}{% set b = 2 %}{% endif %}{{ a }}{{ b }}"),
            (Names{"c", "d", "b"}));
  EXPECT_EQ(free_names("{% for x in y if x %}{{ x }}{{ loop.index }}{% set z = 1 %}{{ z }}"
                       "{% else %}{{ w }}{% endfor %}{{ x }}{{ z }}"),
            (Names{"y", "w", "x", "z"}));
  EXPECT_EQ(free_names("{% macro m(p, q=r) %}{{ p }}{{ caller() }}{{ kwargs }}{% endmacro %}"
                       "{% call m(s) %}{{ t }}{% endcall %}{{ p }}"),
            (Names{"r", "s", "t", "p"}));
}

TEST_F(Includes, ErrorsNameTheIncludedFile) {
  files = {{"main", "a\n{% include \"lib\" %}\n{{ 1 + 'x' < 2 }}"}, {"lib", "b\n{{ n < 'a' }}\n"}};
  const Template parsed = Template::load("main", loader()).value();
  expr::Scope scope;
  scope.set("n", expr::Value(1));
  EXPECT_EQ(parsed.render(scope).error().context.at(0), "rendering lib, line 2");
  files["lib"] = "b\n";
  EXPECT_EQ(Template::load("main", loader()).value().render(scope).error().context.at(0),
            "rendering main, line 3");
  files["lib"] = "\n\n{% nosuch %}";
  EXPECT_EQ(Template::load("main", loader()).error().message,
            "unknown statement 'nosuch' in lib, line 3");
}

}  // namespace
}  // namespace wgk::jinja
