// Draws the dashboard's JSON with Grafana's own widgets, from a live Prometheus.
// index.html gives both as window.picture. Not Grafana: panels are laid out and
// configured here as its server would, for the panel types that the dashboard
// uses.
import React, { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { applyFieldOverrides, createTheme, dateTime, FieldType, getDisplayProcessor, standardEditorsRegistry, standardFieldConfigEditorRegistry, ThemeContext, toDataFrame } from '@grafana/data';
import 'uplot/dist/uPlot.min.css';
import { BigValue, GlobalStyles, PanelChrome, TimeSeries } from '@grafana/ui';

const theme = createTheme({ colors: { mode: 'light' } });
const { dashboard, prometheus, seconds } = window.picture;
const [COLUMN, ROW, GAP, STEP] = [60, 22, 8, 2];
let done = 0;
const now = Math.floor(Date.now() / 1000);
const range = { from: dateTime((now - seconds) * 1000), to: dateTime(now * 1000), raw: { from: 'now-5m', to: 'now' } };

async function ask(path, parameters) {
  const reply = await (await fetch(`${prometheus}/api/v1/${path}?${new URLSearchParams(parameters)}`)).json();
  if (reply.status !== 'success') throw new Error(reply.error);
  return reply.data.result;
}

const fill = (text) => text.replace(/\$__rate_interval/g, '10s').replace(/\$(job|node)/g, '.*');
const legend = (format, labels) => format.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => labels[label] ?? '') || Object.values(labels).join(' ');

async function framesOf(panel) {
  const frames = [];
  for (const target of panel.targets) {
    for (const series of await ask('query_range', { query: fill(target.expr), start: now - seconds, end: now, step: STEP })) {
      const name = legend(target.legendFormat, series.metric);
      frames.push(toDataFrame({
        refId: target.refId,
        name,
        fields: [
          { name: 'Time', type: FieldType.time, values: series.values.map(([t]) => t * 1000) },
          { name: 'Value', type: FieldType.number, values: series.values.map(([, v]) => Number(v)), config: { displayName: name } },
        ],
      }));
    }
  }
  return overridden(frames, panel);
}

async function tableOf(panel) {
  const series = await ask('query', { query: fill(panel.targets[0].expr) });
  const hidden = panel.transformations.find((t) => t.id === 'organize').options.excludeByName;
  const labels = [...new Set(series.flatMap((s) => Object.keys(s.metric)))].filter((l) => !hidden[l]);
  const frame = toDataFrame({ fields: labels.map((l) => ({ name: l, type: FieldType.string, values: series.map((s) => s.metric[l]) })) });
  return overridden([frame], panel);
}

function overridden(frames, panel) {
  const defaults = panel.fieldConfig.defaults;
  const data = applyFieldOverrides({ data: frames, fieldConfig: { defaults: {}, overrides: [] }, replaceVariables: (v) => v, theme, timeZone: 'utc' });
  for (const field of data.flatMap((f) => f.fields).filter((f) => f.type !== FieldType.time)) {
    field.config = { ...defaults, ...field.config, custom: { ...defaults.custom } };
    field.display = getDisplayProcessor({ field, theme, timeZone: 'utc' });
  }
  return data;
}

function Stat({ panel, data, width, height }) {
  const field = data[0].fields[1];
  const value = field.display(field.values[field.values.length - 1]);
  const { colorMode, graphMode } = panel.options;
  return <BigValue value={value} sparkline={{ y: { ...field, config: { ...field.config, custom: {} } }, x: data[0].fields[0] }} colorMode={colorMode} graphMode={graphMode} theme={theme} width={width} height={height} />;
}

function Versions({ frame }) {
  const rows = [...Array(frame.length).keys()];
  return (
    <table style={{ width: '100%', tableLayout: 'fixed' }}>
      <thead><tr>{frame.fields.map((f) => <th key={f.name} style={{ textAlign: 'left' }}>{f.name}</th>)}</tr></thead>
      <tbody>{rows.map((i) => <tr key={i}>{frame.fields.map((f) => <td key={f.name}>{f.values[i]}</td>)}</tr>)}</tbody>
    </table>
  );
}

function Body({ panel, data, width, height }) {
  if (!data.length) return <div>No data</div>;
  if (panel.type === 'stat') return <Stat {...{ panel, data, width, height }} />;
  if (panel.type === 'table') return <Versions frame={data[0]} />;
  return <TimeSeries frames={data} width={width} height={height} timeRange={range} timeZone="utc" legend={panel.options.legend} />;
}

const Placed = ({ panel }) => (panel.type === 'row' ? <h4 style={place(panel)}>{panel.title}</h4> : <Panel panel={panel} />);

function place({ gridPos: { x, y, w, h } }) {
  return { position: 'absolute', left: x * COLUMN, top: y * (ROW + GAP), width: w * COLUMN - GAP, height: h * (ROW + GAP) - GAP };
}

function Panel({ panel }) {
  const [data, setData] = useState();
  useEffect(() => {
    (panel.type === 'table' ? tableOf : framesOf)(panel).then(setData).finally(() => { document.title = `${++done} panels`; });
  }, []);
  const style = place(panel);
  return (
    <div style={style}>
      <PanelChrome title={panel.title} description={panel.description} width={style.width} height={style.height}>
        {(width, height) => (data ? <Body {...{ panel, data, width, height }} /> : null)}
      </PanelChrome>
    </div>
  );
}

createRoot(document.getElementById('root')).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <div style={{ position: 'relative', margin: GAP }}>{dashboard.panels.map((panel) => <Placed key={panel.id} panel={panel} />)}</div>
  </ThemeContext.Provider>,
);
