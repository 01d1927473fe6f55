// A norm in the slot of a mixer.
// compile: this module does not implement the role of the slot
// compile: RMSNorm
#include <axle/axle.h>

using namespace axle;

const PreNorm::Config misfit{.body = RMSNorm::Config{}};

int main(int argc, char** argv) { return run_cli(argc, argv); }
