// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <gtest/gtest.h>

namespace wgk::cli {
namespace {

TEST(Table, IsTabSeparatedAndWholeWhenPiped) {
  Table table({"A", "B"});
  table.add({"one\ntwo", std::string(200, 'x')});
  EXPECT_EQ(table.text(0), "A\tB\none two\t" + std::string(200, 'x') + "\n");
}

// Cells quote names and expressions out of packages of strangers.
TEST(Table, ShowsNothingThatATerminalObeys) {
  Table table({"A"});
  table.add({"\x1b[2J\xc2\x9b\r\x7f\xc3\xa4"});
  EXPECT_EQ(table.text(0), "A\n\\x1b[2J\\xc2\\x9b \\x7f\xc3\xa4\n");
  EXPECT_EQ(table.text(10), "A\n\\x1b[2J\\x…\n");
}

TEST(Table, FitsTheTerminal) {
  Table table({"NAME", "REASON"});
  table.add({"short", "a reason that is much longer than the terminal is wide"});
  table.add({"longer name", "é"});
  EXPECT_EQ(table.text(30),
            "NAME         REASON\n"
            "short        a reason that is…\n"
            "longer name  é\n");
  EXPECT_EQ(table.text(200),
            "NAME         REASON\n"
            "short        a reason that is much longer than the terminal is wide\n"
            "longer name  é\n");
}

TEST(ReportFiles, FollowJson) {
  using List = std::vector<std::string>;
  EXPECT_EQ(with_report_files({"test", "p", "--json", "r.json"}),
            (List{"test", "p", "--json=r.json"}));
  EXPECT_EQ(with_report_files({"bench", "--json", "r.json", "p"}),
            (List{"bench", "--json=r.json", "p"}));
  EXPECT_EQ(with_report_files({"test", "--json", "p"}), (List{"test", "--json=-", "p"}));
  EXPECT_EQ(with_report_files({"test", "p", "--json"}), (List{"test", "p", "--json=-"}));
  EXPECT_EQ(with_report_files({"test", "--json=r", "p"}), (List{"test", "--json=r", "p"}));
  EXPECT_EQ(with_report_files({"test", "--", "--json", "r.json"}),
            (List{"test", "--", "--json", "r.json"}));
  EXPECT_EQ(with_report_files({"info", "--json", "r.json"}), (List{"info", "--json", "r.json"}));
  EXPECT_EQ(with_report_files({}), List{});
}

TEST(ExitCode, FollowsTheArea) {
  EXPECT_EQ(exit_code({"usage/arguments", ""}), kUsage);
  EXPECT_EQ(exit_code({"package/digest", ""}), kInvalid);
  EXPECT_EQ(exit_code({"request/shape", ""}), kInvalid);
  EXPECT_EQ(exit_code({"io/format", ""}), kInvalid);
  EXPECT_EQ(exit_code({"device/none", ""}), kNoDevice);
  EXPECT_EQ(exit_code({"select/none", ""}), kNoDevice);
  EXPECT_EQ(exit_code({"store/network", ""}), kNetwork);
}

}  // namespace
}  // namespace wgk::cli
