// Settings that a process makes before all else, and the time since it began.
#pragma once

namespace axle {

/// Prepares the process. main() calls it first.
///
/// A standard stream may be closed when the process starts. The next file that is opened would then
/// get its number and receive what the program prints. So this function opens such streams; reading
/// and writing them fails.
///
/// A write beyond the file size limit (`ulimit -f`) ends a process by default. This function makes
/// the write fail instead, like a write to a full disk.
void prepare_process();

/// Makes later writes to a pipe without a reader (`| head`) fail. By default they end the process.
/// Work that continues without a console calls it.
void ignore_broken_pipes();

/// Returns the seconds since the process started, in steps of 10 ms. Returns 0 if the system does
/// not tell. exec() does not restart the clock.
double secs_since_process_start();

}  // namespace axle
