// The start of a process: what is set right before anything else, and how long it is ago.
#pragma once

namespace axle {

/// For the first line of a program.
///
/// Standard streams that were closed at the start are opened such that reading or writing them
/// fails: else the next file would get their number, and what is printed would go into it. A file
/// that reaches the limit of its size (`ulimit -f`) fails the write, as a full disk does, and no
/// longer ends the process.
void prepare_process();

/// A pipe that nobody reads any more (`| head`) fails the write from now on, and no longer ends the
/// process: for work that goes on without a console.
void survive_lost_readers();

/// Since this process was started, in steps of the kernel's clock (10 ms); a program that has
/// started itself anew counts from its first start. 0 where the system does not tell.
double secs_since_process_start();

}  // namespace axle
