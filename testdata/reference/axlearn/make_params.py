"""Writes tables of parameters and numbers of AXLearn's published recipes.

usage: make_params.py CHECKOUT FOLDER      (CHECKOUT: a git repository of apple/axlearn)

Reads the golden files of axlearn/experiments/testdata at commit 34aed43c and nothing else:
<recipe>_init.txt has the initialiser and the shape of each parameter of one layer, <recipe>.txt the
config, from which the number of layers and the mesh axes come. Layers of a pipeline, which are all
alike, become one row, stacked like those of a repeat.
"""
import ast
import json
import re
import subprocess
import sys

COMMIT = "34aed43c"
TESTDATA = "axlearn/experiments/testdata/axlearn.experiments.text.gpt."
# Trainer, published name, name of the file here: the names of the data are left out.
RECIPES = [("pajama_trainer", f"{name}-sp-rp", name) for name in (
    "gala-test", "gala-85M", "gala-302M", "gala-1B", "gala-7B", "gala-7B-hybridnorm-alibi",
    "honeycrisp-test", "honeycrisp-85M", "honeycrisp-3B")]
RECIPES += [("pajama_trainer", "gala-1B-hybridnorm-alibi-flash-sp-rp", "gala-1B-hybridnorm-alibi")]
RECIPES += [("pajama_sigmoid_trainer", f"gala-sigmoid-{size}-4k-hybridnorm-alibi-sp-rp",
             f"gala-sigmoid-{size}-4k-hybridnorm-alibi") for size in ("85M", "1B", "7B")]
RECIPES += [("c4_trainer", f"envy-{size}", f"envy-{size}")
            for size in ("test", "Switch-Large", "Switch-XXL")]
RECIPES += [("c4_trainer", f"fuji-{size}", f"fuji-{size}") for size in (
    "1B-v3-tiktoken", "3B-v3", "3B-v3-tiktoken", "7B-v3", "8B-v3-tiktoken", "70B-v1",
    "70B-v3", "70B-v3-tiktoken", "405B-v3", "405B-v3-tiktoken", "test-v2", "test-v3")]
RECIPES += [("c4_trainer", "gspmd-16B-2x16x8", "gspmd-16B"),
            ("c4_trainer", "qwen3-30B-A3B-bs8m-seq8k", "qwen3-30B-A3B")]

NUMBERS = re.compile(
    r"learner\.optimizer|learner\.ignore|max_step$|mesh_(shape|axis_names)|checkpointer\.(keep|save)|"
    r"input\.input_dispatcher\.global|evalers.*eval_policy\.n|model\.decoder\.(dim|vocab_size)$|"
    r"model\.metrics.*z_loss|.*num_(heads|kv_heads|layers|experts|groups|stages|microbatches)$|"
    r".*\.eps$|.*theta$|.*capacity_factor$|.*loss_weight$|.*structure$|.*seq_len|.*hidden_dim")


def published(repo, trainer, name):
    path = f"{COMMIT}:{TESTDATA}{trainer}/{name}"
    return subprocess.run(["git", "-C", repo, "show", path], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def config_of(lines):
    out = {}
    for line in lines:
        key, _, value = line.partition(": ")
        out[key] = value.strip("'")
    return out


def spec(config, prefix):
    """The partition at `prefix`[i] or `prefix`[i][j]: None, an axis or a list for each dim."""
    dims = {}
    for key, value in config.items():
        found = re.fullmatch(re.escape(prefix) + r"\[(\d+)\](\[\d+\])?", key)
        if not found:
            continue
        dim, value = int(found[1]), None if value == "None" else value
        if found[2]:
            dims.setdefault(dim, []).append(value)
        else:
            dims[dim] = value
    return [dims[i] for i in sorted(dims)]


def mapped(config, key):
    """A partition of the experts, printed as PartitionSpec(...)."""
    dims = ast.literal_eval(config[key].removeprefix("PartitionSpec"))
    return [list(dim) if isinstance(dim, tuple) else dim for dim in dims]


def axes_of(config, path, rank):
    layer = re.search(r"/layer(\d)/", path)
    at = "model.decoder.transformer.layer."
    if layer and f"{at}layer[{layer[1]}].feed_forward.klass" in config:
        at += f"layer[{layer[1]}]."
    attention = at + "self_attention.attention."
    if path.endswith("/scale"):
        return [None] * rank
    if "token_emb" in path:
        return spec(config, "model.decoder.emb.token_emb.param_partition_spec")
    if "lm_head" in path:
        return spec(config, "model.decoder.lm_head.param_partition_spec")
    if "qkv_proj" in path:
        inner = attention + "input_linear." + "input_linear." * path.count("i_proj/i_proj")
        return spec(config, inner + "layer.param_partition_spec")
    if "o_proj" in path:
        return spec(config, attention + "output_linear.param_partition_spec")
    linear = re.search(r"(linear[12])(_\d)?/weight", path)
    if linear:
        return spec(config, f"{at}feed_forward.{linear[1]}.param_partition_spec")
    dims = {"gate": "me", "wo": "ehm"}.get(path.split("/")[-1].split("_")[0], "emh")
    return mapped(config, f"{at}feed_forward.dim_to_mesh_axis_map['{dims}']")


def table(config, lines):
    layers = int(config["model.decoder.transformer.num_layers"])
    rows, total = {}, 0
    head_dim = next(re.search(r"qkv_proj.*shape=.*?(\d+)[\])]", line) for line in lines
                    if "qkv_proj" in line)[1]
    for line in lines:
        found = re.fullmatch(r"(\S+): (\w+\(.*?\))(?:, shape=[\[(]([\d, ]+)[\])].*)?", line)
        path, init, dims = found.groups()
        shape = [int(d) for d in dims.split(",")] if dims else None
        width = int(config["model.decoder.dim"])
        if shape is None:  # scales of norms have one dim
            shape = [int(head_dim) if "/scale_" in path else width]
        axes = axes_of(config, path, len(shape))
        if "qkv_proj" in path and not any(
                v.endswith("FusedGroupedQKVLinear") for v in config.values()):
            shape, axes = [3] + shape, [None] + axes
        if "/transformer/" in path:
            # A layer of a pipeline has no axis of its own: the stages are told apart by `pipeline`.
            shape, axes = [layers] + shape, ["pipeline" if "pipeline/" in path else None] + axes
        path = re.sub(r"pipeline/layer/layer\d+/", "repeat/layer/", path)
        row = {"axes": axes, "dtype": "float32", "init": init, "shape": shape,
               "weight_decay_scale": None}
        assert rows.setdefault(path, row) == row, path
    for row in rows.values():
        count = 1
        for dim in row["shape"]:
            count *= dim
        total += count
    return rows, total


def main(repo, folder):
    for trainer, theirs, ours in RECIPES:
        config = config_of(published(repo, trainer, theirs + ".txt"))
        rows, total = table(config, published(repo, trainer, theirs + "_init.txt"))
        out = {"hyperparameters": {k: v for k, v in config.items() if NUMBERS.match(k)},
               "name": theirs, "params": rows, "source": "AXLearn", "total_params": total}
        with open(f"{folder}/{ours}.json", "w") as file:
            json.dump(out, file, indent=0, sort_keys=True)
            file.write("\n")
        print(f"{ours}: {total}")


if __name__ == "__main__":
    main(*sys.argv[1:])
