// Huge pages for the large buffers of programs that run on the CPU.
#pragma once

namespace axle {

/// If the kernel provides huge pages on request (`madvise`) and GLIBC_TUNABLES is not set, restarts
/// this program with an allocator that asks for huge pages. Else returns. A training step allocates
/// hundreds of megabytes of temporaries, and clearing them page by page takes up to a fifth of the
/// step.
void enable_huge_pages(char** argv);

}  // namespace axle
