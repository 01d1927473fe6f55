#include "inspect/eval_op/function_list.h"

#include <nlohmann/json.hpp>

#include "functions/formula.h"

namespace axle {

FunctionList list_functions(const std::vector<std::string>& names) {
  FunctionList out;
  for (const std::string& name : names) {
    for (const Function* f : functions_called(name)) out.functions.push_back(f);
  }
  if (!names.empty()) return out;
  for (const Function& f : all_functions()) out.functions.push_back(&f);
  return out;
}

std::string to_text(const FunctionList& list) {
  std::string out;
  for (const Function* f : list.functions) out += f->text() + "\n";
  return out;
}

nlohmann::ordered_json to_json(const FunctionList& list) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  for (const Function* f : list.functions) {
    Json row = {{"name", f->name},
                {"cpp_name", f->cpp_name},
                {"operands", Json::array()},
                {"attributes", Json::array()}};
    for (const Parameter& p : f->parameters) {
      if (p.kind == Parameter::Kind::kAttribute) {
        row["attributes"].push_back(
            {{"name", p.name}, {"type", p.type}, {"required", !p.default_text.has_value()}});
      } else {
        row["operands"].push_back(
            {{"name", p.name}, {"is_list", p.kind == Parameter::Kind::kTensors}});
      }
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace axle
