#include <gradus/autograd/graph_to_dot.h>

#include <sstream>
#include <unordered_map>

#include "node_factory.h"

namespace gradus::inline v0::autograd {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

}  // namespace

std::string graph_to_dot(const Tensor& root, const std::vector<std::pair<std::string, Tensor>>& names) {
  GRADUS_CHECK(root.defined() && root.requires_grad(),
               "graph_to_dot: the root has no graph; expected a tensor that requires a gradient");
  std::unordered_map<const Node*, std::string> leaf_names;
  for (const auto& [name, t] : names) {
    if (t.defined() && t.requires_grad() && t.is_leaf()) leaf_names.emplace(accumulate_node(t.impl()), name);
  }
  const Edge first = gradient_edge(root.impl());
  const NewNode owner(first.node);
  std::unordered_map<const Node*, size_t> numbers{{first.node, 0}};
  std::vector<const Node*> pending{first.node};
  std::ostringstream out;
  out << "digraph gradus {\n  rankdir=BT;\n  node [shape=box, fontname=\"monospace\"];\n";
  for (size_t i = 0; i < pending.size(); ++i) {
    const Node* n = pending[i];
    const bool is_leaf = n->sequence_ == UINT64_MAX;
    out << "  n" << i << " [label=";
    if (is_leaf) {
      const auto name = leaf_names.find(n);
      // "\n" is Graphviz's line break, to be quoted no more.
      const std::string label = quoted(name != leaf_names.end() ? name->second : "leaf");
      out << label.substr(0, label.size() - 1) << "\\n"
          << str(IntArrayRef(n->outputs_[0].sizes)) << "\", style=filled, fillcolor=lightblue";
    } else {
      out << quoted(n->name());
    }
    out << "];\n";
    for (uint32_t e = 0; e < n->num_edges_; ++e) {
      const Node* next = n->edges_[e].node;
      if (!next) continue;
      const auto [it, fresh] = numbers.try_emplace(next, pending.size());
      if (fresh) pending.push_back(next);
      out << "  n" << it->second << " -> n" << i << ";\n";
    }
  }
  out << "}\n";
  return out.str();
}

}  // namespace gradus::inline v0::autograd
