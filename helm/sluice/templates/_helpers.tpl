{{- define "sluice.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "sluice.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "sluice.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sluice.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sluice.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "sluice.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "sluice.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "sluice.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "sluice.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "sluice.probeType" -}}
{{- .Values.probes.type | default (ternary "grpc" "exec" .Values.api.tcp.enabled) -}}
{{- end -}}

{{/* What the kubelet asks; the timing stands beside it. */}}
{{- define "sluice.probe" -}}
{{- if eq (include "sluice.probeType" .) "grpc" -}}
grpc:
  port: {{ .Values.api.tcp.port }}
{{- else -}}
exec:
  command: [sluicectl, info]
{{- end -}}
{{- end -}}

{{/* sluiced's configuration: config, plus what the chart knows better. */}}
{{- define "sluice.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $listen := list "unix:///run/sluice/sluice.sock" -}}
{{- if .Values.api.tcp.enabled -}}
{{- $listen = append $listen (printf "%s:%d" .Values.api.tcp.address (int .Values.api.tcp.port)) -}}
{{- end -}}
{{- $_ := set $config "api" (dict "listen" $listen) -}}
{{- if .Values.metrics.enabled -}}
{{- $_ := set $config "metrics" (dict "listen" (printf "%s:%d" .Values.metrics.address (int .Values.metrics.port))) -}}
{{- end -}}
{{- $_ := set $config.memory "huge_pages" (ternary "demand" "never" .Values.hugePages.enabled) -}}
{{- if and .Values.hugePages.enabled (not $config.memory.megabytes) -}}
{{- $_ := set $config.memory "megabytes" .Values.hugePages.megabytes -}}
{{- end -}}
{{- if not $config.workers.cpus -}}
{{- $_ := unset $config.workers "cpus" -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Kubernetes wants huge pages as requests and as equal limits, and quantities as text. */}}
{{- define "sluice.resources" -}}
{{- $resources := dict -}}
{{- range $kind := list "requests" "limits" -}}
{{- $quantities := dict -}}
{{- range $name, $quantity := index $.Values.resources $kind -}}
{{- $_ := set $quantities $name (toString $quantity) -}}
{{- end -}}
{{- if $.Values.hugePages.enabled -}}
{{- $_ := set $quantities (printf "hugepages-%s" $.Values.hugePages.size) (printf "%dMi" (int $.Values.hugePages.megabytes)) -}}
{{- end -}}
{{- $_ := set $resources $kind $quantities -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* What the schema cannot say: values that contradict each other. */}}
{{- define "sluice.validate" -}}
{{- $requests := .Values.resources.requests | default dict -}}
{{- $limits := .Values.resources.limits | default dict -}}
{{- if and (eq (include "sluice.probeType" .) "grpc") (not .Values.api.tcp.enabled) -}}
{{- fail "probes.type grpc needs api.tcp.enabled: the kubelet cannot reach a UNIX socket" -}}
{{- end -}}
{{- if and .Values.extraCapabilities (not .Values.runAsRoot) -}}
{{- fail "extraCapabilities needs runAsRoot: as another user the switch has the three capabilities of its file only" -}}
{{- end -}}
{{- if and .Values.config.workers.cpus (ne (len .Values.config.workers.cpus) (int .Values.config.workers.count)) -}}
{{- fail (printf "config.workers.cpus names %d CPUs for %d workers: name one each, or none" (len .Values.config.workers.cpus) (int .Values.config.workers.count)) -}}
{{- end -}}
{{- if and .Values.hugePages.enabled (eq .Values.hugePages.size "1Gi") (ne 0 (mod (int .Values.hugePages.megabytes) 1024)) -}}
{{- fail "hugePages.megabytes must be a multiple of 1024 for hugePages.size 1Gi" -}}
{{- end -}}
{{- if .Values.pinning.enabled -}}
{{- $cpu := toString $limits.cpu -}}
{{- if or (not (regexMatch "^[0-9]+$" $cpu)) (ne $cpu (toString $requests.cpu)) (ne (toString $limits.memory) (toString $requests.memory)) (not $limits.memory) -}}
{{- fail "pinning needs resources.requests equal to resources.limits in cpu and memory, and a whole number of CPUs: only such a pod gets CPUs of its own" -}}
{{- end -}}
{{- if lt (int $cpu) (add1 .Values.config.workers.count | int) -}}
{{- fail (printf "pinning needs %d CPUs: one for each worker and one for the rest" (add1 .Values.config.workers.count | int)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
