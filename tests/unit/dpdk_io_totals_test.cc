// SPDX-License-Identifier: BSD-2-Clause
// Totals of devices: several processes add to them, they outlive all of them, and tools find them as files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "dpdk_io/host/totals_page.h"

namespace mrc {
namespace {

class TotalsPageTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mrc-totals-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static TotalValues some(uint64_t sent) {
    TotalValues values{};
    values[index_of(Total::kPayloadBytesSent)] = sent;
    return values;
  }
  std::string file(const std::string& name) const {
    std::ifstream text(directory_ + "/" + TotalsPage::kFolderPrefix + "mrc0/" + name);
    std::string line;
    std::getline(text, line);
    return line;
  }

  std::string directory_;
};

TEST_F(TotalsPageTest, ProcessesAddUpAndAreOutlived) {
  {
    TotalsPage one(directory_);
    TotalsPage other(directory_);
    const auto place = one.place_of("mrc0");
    ASSERT_TRUE(place);
    EXPECT_EQ(other.place_of("mrc0"), place);
    one.add(*place, some(100));
    other.add(*place, some(23));
    const auto second = other.place_of("mrc1");
    ASSERT_TRUE(second);
    EXPECT_NE(second, place);
    other.add(*second, some(5));
  }
  const auto all = TotalsPage(directory_).read();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].device, "mrc0");
  EXPECT_EQ(all[0].values[index_of(Total::kPayloadBytesSent)], 123u);
  EXPECT_EQ(all[1].device, "mrc1");
  EXPECT_EQ(all[1].values[index_of(Total::kPayloadBytesSent)], 5u);
}

TEST_F(TotalsPageTest, DevicesHaveAnEnd) {
  TotalsPage page(directory_);
  for (uint32_t i = 0; i < TotalsPage::kDevices; ++i) EXPECT_TRUE(page.place_of("mrc" + std::to_string(i)));
  EXPECT_FALSE(page.place_of("one_more"));
  EXPECT_TRUE(page.place_of("mrc3"));
}

TEST_F(TotalsPageTest, FilesOnlyWhereSomebodyWantsThem) {
  TotalsPage page(directory_);
  const auto place = page.place_of("mrc0");
  ASSERT_TRUE(place);
  page.add(*place, some(4000));
  page.write_files(*place);
  EXPECT_EQ(file("counters/port_xmit_data"), "");
  EXPECT_EQ(make_counter_folder(directory_, "mrc0"), directory_ + "/" + TotalsPage::kFolderPrefix + "mrc0");
  EXPECT_EQ(file("counters/port_xmit_data"), "1000");
  EXPECT_EQ(file("hw_counters/tx_bytes"), "4000");
  page.add(*place, some(400));
  page.write_files(*place, 1000, 10);
  EXPECT_EQ(file("hw_counters/tx_bytes"), "4400");
  page.add(*place, some(400));
  page.write_files(*place, 1005, 10);  // too soon
  EXPECT_EQ(file("hw_counters/tx_bytes"), "4400");
  page.write_files(*place, 500, 10);  // the machine was restarted
  EXPECT_EQ(file("hw_counters/tx_bytes"), "4800");
}

TEST_F(TotalsPageTest, APageOfAnotherVersionIsLeftAlone) {
  const std::string path = directory_ + "/" + TotalsPage::kFileName;
  std::ofstream(path) << "something of another kind that stands here";
  chmod(path.c_str(), 0600);
  TotalsPage page(directory_);
  EXPECT_FALSE(page.usable());
  EXPECT_FALSE(page.place_of("mrc0"));
  EXPECT_TRUE(page.read().empty());
  EXPECT_EQ(make_counter_folder(directory_, "mrc0"), "");
}

TEST(Totals, EveryCounterHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const TotalName& total : kTotals) {
    ASSERT_NE(total.name, nullptr);
    EXPECT_TRUE(names.insert(total.name).second) << total.name;
    EXPECT_EQ(std::string(total.help).back(), '.');
  }
  std::set<std::string> paths;
  for (const CounterFile& one : counter_files({})) EXPECT_TRUE(paths.insert(one.path).second) << one.path;
}

}  // namespace
}  // namespace mrc
