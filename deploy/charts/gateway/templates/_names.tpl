{{- define "gateway.name" -}}
{{ .Values.name | default .Release.Name }}
{{- end }}

{{- define "gateway.account" -}}
{{ .Values.serviceAccount.name | default (include "gateway.name" .) }}
{{- end }}

{{/* What Gateway objects select: istio: NAME, without the prefix that names of releases have. */}}
{{- define "gateway.selector" -}}
app: {{ include "gateway.name" . }}
istio: {{ include "gateway.name" . | trimPrefix "istio-" }}
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
{{ include "istio.labels" (dict "root" . "name" (include "gateway.name" .)) }}
{{- with .Values.networkGateway }}
topology.istio.io/network: {{ . | quote }}
{{- end }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}
