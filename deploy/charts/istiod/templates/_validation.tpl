{{/*
Ignore until the control plane is reached, which then writes Fail. An upgrade leaves what it wrote: another value would be a conflict of two
field managers.
*/}}
{{- define "istio.validationFailurePolicy" -}}
{{- $live := lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" . }}
{{- $policy := "Ignore" }}
{{- range ($live.webhooks | default list) }}
{{- $policy = .failurePolicy }}
{{- end }}
{{- $policy }}
{{- end }}
