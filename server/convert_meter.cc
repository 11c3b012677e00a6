// Meters.

#include "absl/strings/str_cat.h"
#include "server/convert.h"

namespace sluice {
namespace {

constexpr uint32_t kMaxPrecLevel = 2;

void BandFromProto(const v1::MeterBand& in, const Path& path, ViolationList& violations, BandSpec& out) {
  const bool remark = in.type() == v1::METER_BAND_TYPE_DSCP_REMARK;
  if (!remark && in.type() != v1::METER_BAND_TYPE_DROP) {
    violations.Add(Path(path, "type"), "no type: METER_BAND_TYPE_DROP or METER_BAND_TYPE_DSCP_REMARK");
  }
  if (in.rate() == 0) violations.Add(Path(path, "rate"), "a rate of 0 lets nothing pass; 1 or more would be right");
  if (remark && (in.prec_level() == 0 || in.prec_level() > kMaxPrecLevel)) {
    violations.Add(Path(path, "prec_level"), absl::StrCat(in.prec_level(), " is out of range: 1 to ", kMaxPrecLevel));
  } else if (!remark && in.prec_level() != 0) {
    violations.Add(Path(path, "prec_level"), "only a band that remarks has a level; leave it out");
  }
  out.type = remark ? BandType::kRemark : BandType::kDrop;
  out.rate = in.rate();
  out.burst = in.burst_size();
  out.prec_level = static_cast<uint8_t>(in.prec_level());
}

void MeterStatsToProto(const PacketCount& count, v1::MeterStats* out) {
  out->set_packets(count.packets);
  out->set_bytes(count.bytes);
}

}  // namespace

void MeterIdFromProto(uint32_t id, const Path& path, ViolationList& violations) {
  if (id == 0 || id > kMaxMeterId) violations.Add(path, absl::StrCat(id, " is no meter's id: 1 to ", kMaxMeterId));
}

void MeterSpecFromProto(const v1::MeterSpec& in, const Path& path, ViolationList& violations, MeterSpec& out) {
  MeterIdFromProto(in.meter_id(), Path(path, "meter_id"), violations);
  out.id = in.meter_id();
  out.unit = in.unit() == v1::METER_UNIT_KBPS ? MeterUnit::kKilobits : MeterUnit::kPackets;
  if (in.unit() != v1::METER_UNIT_KBPS && in.unit() != v1::METER_UNIT_PKTPS) {
    violations.Add(Path(path, "unit"), "no unit: METER_UNIT_PKTPS or METER_UNIT_KBPS");
  }
  const auto bands = static_cast<size_t>(in.bands_size());
  if (bands > kMaxMeterBands) {
    violations.Add(Path(path, "bands"), absl::StrCat(bands, " bands; at most ", kMaxMeterBands),
                   ViolationList::Kind::kLimit);
    return;
  }
  if (bands == 0) violations.Add(Path(path, "bands"), "a meter without bands does nothing; give one at least");
  for (int i = 0; i < in.bands_size(); ++i) {
    BandFromProto(in.bands(i), Path(path, "bands", i), violations, out.bands.emplace_back());
  }
}

void MeterToProto(const MeterInfo& meter, v1::Meter* out) {
  v1::MeterSpec* spec = out->mutable_spec();
  spec->set_meter_id(meter.spec.id);
  spec->set_unit(meter.spec.unit == MeterUnit::kKilobits ? v1::METER_UNIT_KBPS : v1::METER_UNIT_PKTPS);
  for (const BandSpec& band : meter.spec.bands) {
    v1::MeterBand* to = spec->add_bands();
    to->set_type(band.type == BandType::kRemark ? v1::METER_BAND_TYPE_DSCP_REMARK : v1::METER_BAND_TYPE_DROP);
    to->set_rate(band.rate);
    to->set_burst_size(band.burst);
    to->set_prec_level(band.prec_level);
  }
  MeterStatsToProto(meter.count, out->mutable_stats());
  for (const PacketCount& count : meter.band_counts) MeterStatsToProto(count, out->add_band_stats());
}

}  // namespace sluice
