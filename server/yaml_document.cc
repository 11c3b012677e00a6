#include "server/yaml_document.h"

#include <sstream>
#include <vector>

#include "yaml-cpp/eventhandler.h"

namespace sluice {
namespace {

// Where documents begin.
class DocumentStarts : public YAML::EventHandler {
 public:
  const std::vector<YAML::Mark>& marks() const { return marks_; }

  void OnDocumentStart(const YAML::Mark& mark) override { marks_.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  std::vector<YAML::Mark> marks_;
};

}  // namespace

YAML::Node LoadDocument(const std::string& text, YamlErrors& errors) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  DocumentStarts starts;
  for (int i = 0; i < 2; ++i) parser.HandleNextDocument(starts);
  const std::vector<YAML::Mark>& marks = starts.marks();
  if (marks.size() == 2 && marks[0].pos == marks[1].pos) {
    errors.Add(marks[1], "not YAML: neither a key nor a value; key: value lines with equal indents would be right");
  } else if (marks.size() == 2) {
    errors.Add(marks[1], "a second YAML document begins; one a file would be right");
  }
  return YAML::Load(text);
}

}  // namespace sluice
