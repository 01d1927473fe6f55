// The start of a process: settings that must come first, and the time since then.
#pragma once

namespace axle {

/// Prepares the process; the first line of main().
///
/// Opens standard streams that are closed at the start, in such a way that reading or writing them
/// fails. Otherwise the next file opened would get their number and receive what the program
/// prints. Makes a write to a file at its size limit (`ulimit -f`) fail, as on a full disk, instead
/// of ending the process.
void prepare_process();

/// From now on, makes a write to a pipe without a reader (`| head`) fail instead of ending the
/// process. For work that continues without a console.
void ignore_broken_pipes();

/// Returns the seconds since this process was started, in steps of the kernel's clock (10 ms); 0 if
/// the system does not tell. The time of a program that replaced itself by exec counts from its
/// first start.
double secs_since_process_start();

}  // namespace axle
