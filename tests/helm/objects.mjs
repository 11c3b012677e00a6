// Turns rendered YAML into objects and checks them against the Kubernetes
// schemas, without a cluster:
//
//   node objects.mjs MODULES < texts.json > results.json
//
// A JSON list of YAML texts comes in, a list of {objects, problems} goes out.
// Two validators, since neither sees all: kubernetes-models knows what is
// required and what a quantity looks like, but lets unknown fields pass; the
// types of @kubernetes/client-node know every field, but not which must be there.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [modules] = process.argv.slice(2);
const require = createRequire(modules + '/');
const yaml = require('js-yaml');
const client = await import(pathToFileURL(require.resolve('@kubernetes/client-node')));

// Where each apiVersion's models stand, and the prefix of client-node's types;
// it has no types for custom resources.
const groups = {
  'v1': ['kubernetes-models/v1', 'V1'],
  'apps/v1': ['kubernetes-models/apps/v1', 'V1'],
  'networking.k8s.io/v1': ['kubernetes-models/networking.k8s.io/v1', 'V1'],
  'monitoring.coreos.com/v1': ['@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1', null],
};

const scalars = {
  string: (v) => typeof v === 'string',
  number: (v) => typeof v === 'number',
  boolean: (v) => typeof v === 'boolean',
  IntOrString: (v) => typeof v === 'string' || Number.isInteger(v),
  Date: (v) => typeof v === 'string',
  any: () => true,
  object: (v) => typeof v === 'object',
};

function walk(value, type, path, problems) {
  const list = /^Array<(.*)>$/.exec(type);
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type);
  if (list) {
    if (!Array.isArray(value)) problems.push(`${path}: a list is wanted`);
    else value.forEach((item, i) => walk(item, list[1], `${path}[${i}]`, problems));
  } else if (map) {
    for (const [key, item] of Object.entries(value)) walk(item, map[1], `${path}.${key}`, problems);
  } else if (scalars[type]) {
    if (!scalars[type](value)) problems.push(`${path}: ${JSON.stringify(value)} is no ${type}`);
  } else {
    walkObject(value, type, path, problems);
  }
}

function walkObject(value, type, path, problems) {
  const known = client[type]?.attributeTypeMap;
  if (!known) return problems.push(`${path}: no description of type ${type}`);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return problems.push(`${path}: an object is wanted`);
  for (const [key, item] of Object.entries(value)) {
    const field = known.find((f) => f.baseName === key);
    if (!field) problems.push(`${path}.${key}: unknown field in ${type}`);
    else walk(item, field.type, `${path}.${key}`, problems);
  }
}

function problemsOf(object) {
  const path = `${object.kind}/${object.metadata?.name}`;
  const [module, prefix] = groups[object.apiVersion] ?? [];
  if (!module) return [`${path}: no validator for apiVersion ${object.apiVersion}`];
  const Model = require(module)[object.kind];
  if (!Model) return [`${path}: no validator for kind ${object.kind}`];
  const problems = [];
  try {
    new Model(object).validate();
  } catch (e) {
    problems.push(`${path}: ${e.message}`);
  }
  if (prefix) walk(object, prefix + object.kind, path, problems);
  return problems;
}

const results = JSON.parse(readFileSync(0, 'utf8')).map((text) => {
  const objects = yaml.loadAll(text).filter((o) => o);
  return { objects, problems: objects.flatMap(problemsOf) };
});
process.stdout.write(JSON.stringify(results));
