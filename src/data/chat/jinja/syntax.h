// The syntax tree of a template.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/chat/jinja/value.h"

namespace axle::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<const Expression>;
using Body = std::vector<std::unique_ptr<const Statement>>;

/// What is between the parentheses of a call: f(a, *b, c=d, **e).
struct CallArguments {
  std::vector<ExpressionPtr> positional = {};
  std::vector<std::pair<std::string, ExpressionPtr>> named = {};
  ExpressionPtr more_positional = {}, more_named = {};
};

enum class ExpressionKind {
  kConstant,     // value
  kName,         // text
  kList,         // children
  kTuple,        // children
  kDict,         // children: key, value, key, value ...
  kAttribute,    // children[0].text
  kItem,         // children[0][children[1]]
  kSlice,        // begin, end, step, any of them null; only as children[1] of kItem
  kCall,         // children[0](arguments)
  kFilter,       // children[0] | text(arguments); no child: the body of a block
  kTest,         // children[0] is text(arguments)
  kNot,          // not children[0]
  kAnd,          // of two
  kOr,           // of two
  kConditional,  // children[0] if children[1] else children[2], which may be null
  kUnary,        // text: - or +
  kBinary,       // text: an operator of numbers
  kConcatenate,  // texts of all children
  kCompare,      // children[0] operators[0] children[1] operators[1] ...
};

struct Expression {
  ExpressionKind kind;
  int line = 0;
  std::string text = {};
  Value value = {};
  std::vector<ExpressionPtr> children = {};
  std::vector<std::string> operators = {};  // "in", "not in", "<" ...
  CallArguments arguments = {};
  int depth = 1;  // levels of expressions
};

/// What an assignment or a loop assigns values to: a name, a field of a namespace, or several.
struct Target {
  std::string name = {};
  std::optional<std::string> field = {};
  std::vector<Target> parts = {};
  bool is_tuple = false;
};

struct Parameter {
  std::string name;
  ExpressionPtr fallback;  // null: none
};

enum class StatementKind {
  kText,        // text
  kOutput,      // expression
  kIf,          // branches; the last may have no condition
  kFor,         // target, expression, condition, body, otherwise, is_recursive
  kSet,         // target, expression
  kSetBlock,    // target, expression (filters of the body, or null), body
  kMacro,       // text, parameters, body
  kCallBlock,   // expression (a call), parameters, body
  kFilter,      // expression (filters of the body), body
  kWith,        // assignments, body
  kGeneration,  // body
  kBreak,
  kContinue,
};

struct Statement {
  StatementKind kind;
  int line = 0;
  std::string text = {};
  ExpressionPtr expression = {}, condition = {};
  Target target = {};
  std::vector<std::pair<ExpressionPtr, Body>> branches = {};
  std::vector<std::pair<Target, ExpressionPtr>> assignments = {};
  std::vector<Parameter> parameters = {};
  Body body = {}, otherwise = {};
  bool is_recursive = false;
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;  // of a macro
};

}  // namespace axle::jinja
