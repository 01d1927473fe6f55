"""What each public tensor function of Axle is in JAX: one line or more for each, with inputs and attributes.

The lines stand in a file for each family. Functions without a line are in WITHOUT_CALL, with the reason.
"""

import collective_calls
import control_flow_calls
import elementwise_calls
import indexing_calls
import movement_calls
import products_calls
import random_calls
import reductions_calls

FAMILIES = [
    elementwise_calls, movement_calls, indexing_calls, reductions_calls, products_calls, control_flow_calls, collective_calls, random_calls
]  # fmt: skip
CALLS = {name: calls for family in FAMILIES for name, calls in family.CALLS.items()}

WITHOUT_CALL = {
    "astype_saturating": "JAX's conversions to 8-bit floats do not saturate; ops/elementwise/convert has its values in tests",
    "select_and_scatter_add": "JAX has it as the gradient of reduce_window only, which is compared there",
    "selected_positions": "JAX has no such function; reduce_window_max's gradient is compared",
    "ragged_all_to_all": "JAX cannot compile it for the CPU; src/transform/laws/naive/naive_bodies_test.cpp compares with plain loops",
    "sharding_constraint": "it has no result of its own; src/lower and src/pjrt test what it divides",
}  # fmt: skip
