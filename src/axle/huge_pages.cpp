#include "axle/huge_pages.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace axle {
namespace {

bool given_on_request() {
  std::ifstream modes("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  return std::getline(modes, line) && line.find("[madvise]") != std::string::npos;
}

}  // namespace

void enable_huge_pages(char** argv) {
  // glibc reads this variable once, before main.
  constexpr const char* kTunables = "GLIBC_TUNABLES";
  // If the dynamic loader was started with this program as its argument, /proc/self/exe is the
  // loader.
  const bool by_the_loader = ::getauxval(AT_BASE) == 0;
  if (std::getenv(kTunables) || by_the_loader || !given_on_request()) return;
  if (::setenv(kTunables, "glibc.malloc.hugetlb=1", 0) == 0) ::execv("/proc/self/exe", argv);
}

}  // namespace axle
