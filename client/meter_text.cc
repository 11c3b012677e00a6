// Meters.

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/flow_text_lexer.h"
#include "client/flow_text_match.h"
#include "client/flow_text_value.h"
#include "client/group_text.h"

namespace sluice::client {
namespace {

TextError MeterError(int column, std::string text) { return {column, std::move(text)}; }

class MeterParser {
 public:
  explicit MeterParser(v1::MeterSpec& out) : out_(out) {}

  TextError Parse(absl::string_view text) {
    if (TextError error = Words(Lexer(text))) return error;
    const int end = static_cast<int>(text.size()) + 1;
    if (out_.meter_id() == 0) return MeterError(end, "the meter has no number; expected meter=1 or the like");
    if (out_.bands().empty()) return MeterError(end, "the meter has no band; expected bands=type=drop,rate=…");
    for (const v1::MeterBand& band : out_.bands()) {
      if (band.rate() == 0) return MeterError(end, "a band has no rate; expected rate=… behind its type");
    }
    return {};
  }

 private:
  TextError Words(Lexer lexer) {
    Token token;
    while (lexer.Next(&token)) {
      const bool band = token.key == "band" || token.key == "bands";
      if (band && token.value.empty() && token.delimiter == '=') continue;
      // What stands behind "bands=" is a word of its own.
      if (TextError error = band ? Words(Lexer(token.value, token.value_column)) : Word(token)) return error;
    }
    return {};
  }

  TextError Word(const Token& token) {
    if (token.key == "n_packets" || token.key == "n_bytes" || (token.key == "add" && token.delimiter == '\0'))
      return {};
    if (token.key == "kbps" || token.key == "pktps" || token.key == "burst" || token.key == "stats") {
      if (token.delimiter != '\0') return MeterError(token.value_column, absl::StrCat(token.key, " takes no value"));
      if (token.key == "kbps") out_.set_unit(v1::METER_UNIT_KBPS);
      if (token.key == "pktps") out_.set_unit(v1::METER_UNIT_PKTPS);
      return {};
    }
    if (token.key == "meter") {
      return Number(token, 1, 0xffff, [&](uint32_t id) { out_.set_meter_id(id); });
    }
    if (token.key == "type") return Type(token);
    const bool of_band = token.key == "rate" || token.key == "burst_size" || token.key == "prec_level";
    if (!of_band) {
      return MeterError(token.key_column, absl::StrCat("unknown word \"", token.key,
                                                       "\"; expected meter, kbps, pktps, burst, stats, bands, type, "
                                                       "rate, burst_size or prec_level"));
    }
    if (out_.bands().empty()) {
      return MeterError(token.key_column, absl::StrCat(token.key, " belongs to a band; expected bands=type=… before"));
    }
    return BandNumber(token, *out_.mutable_bands()->rbegin());
  }

  TextError BandNumber(const Token& token, v1::MeterBand& band) {
    if (token.key == "rate") return Number(token, 1, ~uint32_t{0}, [&](uint32_t rate) { band.set_rate(rate); });
    if (token.key == "burst_size") {
      return Number(token, 0, ~uint32_t{0}, [&](uint32_t size) { band.set_burst_size(size); });
    }
    return Number(token, 0, 255, [&](uint32_t level) { band.set_prec_level(level); });
  }

  TextError Type(const Token& token) {
    if (token.value != "drop" && token.value != "dscp_remark") {
      return MeterError(token.value.empty() ? token.key_column : token.value_column,
                        absl::StrCat("\"", token.value, "\" is no type of band; expected drop or dscp_remark"));
    }
    out_.add_bands()->set_type(token.value == "drop" ? v1::METER_BAND_TYPE_DROP : v1::METER_BAND_TYPE_DSCP_REMARK);
    return {};
  }

  template <typename Set>
  static TextError Number(const Token& token, uint64_t min, uint64_t max, Set set) {
    const absl::StatusOr<uint64_t> number = ParseNumberIn(token.key, token.value, min, max);
    if (!number.ok()) {
      return MeterError(token.value.empty() ? token.key_column : token.value_column,
                        std::string(number.status().message()));
    }
    set(static_cast<uint32_t>(*number));
    return {};
  }

  v1::MeterSpec& out_;
};

std::string FormatBand(const v1::MeterBand& band, const v1::MeterStats* stats) {
  std::string out =
      absl::StrCat("type=", band.type() == v1::METER_BAND_TYPE_DROP ? "drop" : "dscp_remark", ",rate=", band.rate());
  if (band.burst_size() != 0) absl::StrAppend(&out, ",burst_size=", band.burst_size());
  if (band.prec_level() != 0) absl::StrAppend(&out, ",prec_level=", band.prec_level());
  if (stats != nullptr) absl::StrAppend(&out, ",n_packets=", stats->packets(), ",n_bytes=", stats->bytes());
  return out;
}

std::string FormatMeterParts(const v1::MeterSpec& spec, const v1::Meter* stats) {
  bool burst = false;
  std::vector<std::string> bands;
  for (int i = 0; i < spec.bands_size(); ++i) {
    burst |= spec.bands(i).burst_size() != 0;
    const bool counted = stats != nullptr && i < stats->band_stats_size();
    bands.push_back(FormatBand(spec.bands(i), counted ? &stats->band_stats(i) : nullptr));
  }
  return absl::StrCat("meter=", spec.meter_id(), ",", spec.unit() == v1::METER_UNIT_PKTPS ? "pktps" : "kbps",
                      burst ? ",burst" : "", ",stats,bands=", absl::StrJoin(bands, ","));
}

}  // namespace

absl::StatusOr<v1::MeterSpec> ParseMeter(absl::string_view text, const TextOptions& options) {
  v1::MeterSpec spec;
  spec.set_unit(v1::METER_UNIT_KBPS);
  if (const TextError error = MeterParser(spec).Parse(text)) return AtPlace(options, error);
  return spec;
}

std::string FormatMeterSpec(const v1::MeterSpec& spec) { return FormatMeterParts(spec, nullptr); }

std::string FormatMeter(const v1::Meter& meter, bool wide) {
  return absl::StrCat("n_packets=", meter.stats().packets(), ", n_bytes=", meter.stats().bytes(), ", ",
                      FormatMeterParts(meter.spec(), wide ? &meter : nullptr));
}

}  // namespace sluice::client
