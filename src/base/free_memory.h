// Memory that was freed.
#pragma once

#include <malloc.h>

namespace axle {

/// Gives memory that was freed back to the system, where much was freed before more is needed.
inline void release_free_memory() { ::malloc_trim(0); }

}  // namespace axle
