// A text as its one YAML document.
//
// Not YAML::LoadAll: on some texts (a lone ",") it finds the same document over
// and over and never ends. Throws whatever yaml-cpp throws. Pure; any thread.

#pragma once

#include <string>

#include "server/yaml_section.h"
#include "yaml-cpp/yaml.h"

namespace sluice {

// Null if the text holds none. What stands behind the document is an error.
YAML::Node LoadDocument(const std::string& text, YamlErrors& errors);

}  // namespace sluice
