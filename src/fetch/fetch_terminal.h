// Asks before a download and shows its progress on the terminal.
#pragma once

#include "fetch/fetch_plugin.h"

namespace axle {

/// Returns options that ask and show progress on the terminal, if there is one.
FetchOptions terminal_fetch_options(bool yes);

}  // namespace axle
