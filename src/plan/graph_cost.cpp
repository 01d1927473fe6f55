#include "plan/graph_cost.h"

#include "transform/body.h"

namespace axle {

GraphCost graph_cost(const Region& graph) { return {region_flops(graph), region_bytes(graph)}; }

}  // namespace axle
