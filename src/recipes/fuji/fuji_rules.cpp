#include "recipes/fuji/fuji_rules.h"

#include <algorithm>
#include <optional>

#include "modifiers/replace_class.h"
#include "modifiers/sequence_parallel.h"
#include "modifiers/set_mesh.h"
#include "modifiers/set_partition.h"
#include "modifiers/set_remat.h"
#include "nn/remat_policies.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

SetRemat::Config keep_projections() { return remat("**.layer", kept_projections()); }
SetRemat::Config keep_hidden_too() {
  SaveNames kept = kept_projections();
  kept.names.insert(kept.names.end(), {"gate", "up"});
  return remat("**.layer", kept);
}
// For machines with little device memory: offloads the projections to the host.
SetRemat::Config offload_projections() {
  return remat("**.layer", SaveNames{.offload = kept_projections().names});
}

MeshRule rule(std::string machine, SetMesh::Config mesh, SetRemat::Config remat, const FujiRules& r,
              std::optional<int64_t> rows = {}) {
  MeshRule out{.machine = std::move(machine), .modifiers = {std::move(mesh), std::move(remat)}};
  out.modifiers.push_back(device_rows(rows.value_or(r.rows_per_batch / r.published_devices)));
  if (r.untied_head) {
    out.modifiers.push_back(whole_rows("model.decoder.emb"));
    out.modifiers.push_back(parallel_vocabulary("model.decoder.lm_head"));
  }
  return out;
}

SetMesh::Config data_and_fsdp(int64_t fsdp) {
  if (fsdp < 0) return mesh({{.name = "fsdp", .size = -1}});
  return mesh({{.name = "data", .size = -1}, {.name = "fsdp", .size = fsdp}});
}

// A Trainium 2 chip counts as four devices with fast links. The mesh uses tensor parallelism within
// a chip, with norms sharded along the sequence. Projections fused in groups would be split across
// devices, so the rule uses separate projections.
MeshRule trainium2(const FujiRules& r) {
  MeshRule out =
      rule("neuron-trn2.*", mesh({{.name = "fsdp", .size = -1}, {.name = "model", .size = 4}}),
           keep_projections(), r);
  out.modifiers.push_back(SequenceParallel::Config{});
  if (!r.untied_head) out.modifiers.push_back(parallel_vocabulary("model.decoder.emb"));
  if (r.grouped_queries) {
    out.modifiers.push_back(
        ReplaceClass::Config{.replace = "FusedGroupedQKV", .with = "SeparateQKV"});
  }
  return out;
}

}  // namespace

MeshRules fuji_rules(const FujiRules& r) {
  const std::string few_gpus = "gpu-(H100|H200|A100)-" + r.few_gpus;
  MeshRules out = {
      rule("tpu-v5litepod-256.*", data_and_fsdp(256), offload_projections(), r),
      rule("tpu-v6e-256.*", data_and_fsdp(r.fsdp_tpu_v6e), offload_projections(), r),
      rule("tpu-(v5litepod|v6e)-.*", data_and_fsdp(-1), offload_projections(), r),
      rule("tpu-v5p-" + r.few_tpu_v5p, data_and_fsdp(-1), keep_projections(), r),
      rule("tpu-v5p-.*", data_and_fsdp(r.fsdp_tpu_v5p), keep_projections(), r),
      rule(few_gpus, data_and_fsdp(-1), keep_projections(), r, rows_of_gpu(r.seq_len)),
      rule("gpu-(H100|H200|A100)-.*", data_and_fsdp(r.fsdp_gpu), keep_projections(), r),
      trainium2(r),
      cpu_rule(),
  };
  if (r.gpu_keeps_hidden) {
    out.insert(
        std::ranges::find(out, few_gpus, &MeshRule::machine),
        rule("gpu-(H100|H200)-(256|512|1024)", data_and_fsdp(r.fsdp_gpu), keep_hidden_too(), r));
  }
  return out;
}

}  // namespace axle
