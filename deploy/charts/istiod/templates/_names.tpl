{{/* -REVISION, or nothing for the default one. */}}
{{- define "istiod.suffix" -}}
{{- if .Values.revision }}-{{ .Values.revision }}{{ end -}}
{{- end }}

{{- define "istiod.revision" -}}
{{ .Values.revision | default "default" }}
{{- end }}

{{- define "istiod.name" -}}
istiod{{ include "istiod.suffix" . }}
{{- end }}

{{- define "istiod.labels" -}}
app: istiod
release: {{ .Release.Name }}
{{ include "istio.labels" (dict "root" . "name" "istiod") }}
{{- end }}

{{/* Labels of what belongs to one revision. */}}
{{- define "istiod.revisionLabels" -}}
istio.io/rev: {{ include "istiod.revision" . | quote }}
operator.istio.io/component: Pilot
install.operator.istio.io/owning-resource: unknown
{{- end }}

{{/* The default revision's selector does not match the pods of others. */}}
{{- define "istiod.selector" -}}
app: istiod
{{- if .Values.revision }}
istio.io/rev: {{ .Values.revision | quote }}
{{- else }}
istio: pilot
{{- end }}
{{- end }}

{{- define "istiod.image" -}}
{{- if contains "/" .Values.image -}}
{{ .Values.image }}
{{- else -}}
{{ .Values.global.hub }}/{{ .Values.image }}:{{ .Values.global.tag }}{{ with .Values.global.variant }}-{{ . }}{{ end }}
{{- end -}}
{{- end }}
