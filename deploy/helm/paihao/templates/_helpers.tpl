{{- /* The name before every object: that of the release, with the chart's unless it is in there. */}}
{{- define "paihao.name" -}}
{{- if contains "paihao" .Release.Name }}{{ .Release.Name | trunc 50 }}{{ else }}{{ printf "%s-paihao" .Release.Name | trunc 50 }}{{ end }}
{{- end }}

{{- define "paihao.labels" -}}
app.kubernetes.io/name: paihao
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* A setting as text: numbers of a file of values are floats, and a large one would be written 1e+06. */}}
{{- define "paihao.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- /* The value of a setting for a kind of process: its own, that of all, or the default of the server. */}}
{{- define "paihao.setting" -}}
{{- $own := index .root.Values .component -}}
{{- include "paihao.text" (index $own.config .name | default (index .root.Values.config .name) | default .default) }}
{{- end }}

{{- define "paihao.port" -}}
{{ include "paihao.setting" (merge (dict "name" "PORT" "default" "3000") .) }}
{{- end }}

{{- /* Seconds that Kubernetes waits before it kills a process: 5 until the load balancers have noticed, DRAIN_TIMEOUT, and 15 to close. */}}
{{- define "paihao.grace" -}}
{{- $drain := include "paihao.setting" (merge (dict "name" "DRAIN_TIMEOUT" "default" "20s") .) | trim -}}
{{- $unit := regexFind "[a-z]+$" $drain | default "ms" -}}
{{- $seconds := get (dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 "d" 86400.0) $unit -}}
{{ add 20 (ceil (mulf (regexFind "^[0-9.]+" $drain | float64) $seconds) | int64) }}
{{- end }}

{{- /* The Secret of every process. */}}
{{- define "paihao.secret" -}}
{{- if .Values.secret }}{{ include "paihao.name" . }}{{ else }}{{ .Values.existingSecret }}{{ end }}
{{- end }}

{{- /* The ConfigMap with handlers; empty without one. */}}
{{- define "paihao.handlers" -}}
{{- if .Values.handlers.files }}{{ include "paihao.name" . }}-handlers{{ else }}{{ .Values.handlers.existingConfigMap }}{{ end }}
{{- end }}

{{- /* The content of the Secret as JSON. One that the chart does not make is read from the cluster: helm template, which knows none, gets null. */}}
{{- define "paihao.secretData" -}}
{{- if .Values.secret }}{{ toJson .Values.secret }}{{ else }}{{ (lookup "v1" "Secret" .Release.Namespace .Values.existingSecret).data | toJson }}{{ end }}
{{- end }}

{{- /* That of the ConfigMap with handlers, likewise. */}}
{{- define "paihao.handlersData" -}}
{{- with .Values.handlers }}
{{- if .files }}{{ toJson .files }}
{{- else if .existingConfigMap }}{{ $found := lookup "v1" "ConfigMap" $.Release.Namespace .existingConfigMap }}{{ with $found }}{{ toJson (list .data .binaryData) }}{{ else }}null{{ end }}
{{- else }}null{{ end }}
{{- end }}
{{- end }}

{{- /* The pod of an API or worker process. */}}
{{- define "paihao.pod" -}}
{{- $root := .root }}
{{- $own := index $root.Values .component -}}
metadata:
  labels:
    {{- include "paihao.labels" . | nindent 4 }}
  annotations:
    # A changed configuration, Secret or handlers replace the pods.
    checksum/config: {{ toJson (list $root.Values.config $own.config) | sha256sum }}
    {{- range $name := list "secret" "handlers" }}
    {{- $data := include (printf "paihao.%sData" $name) $root }}
    {{- if ne $data "null" }}
    checksum/{{ $name }}: {{ sha256sum $data }}
    {{- end }}
    {{- end }}
    {{- with $own.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  # Longer than the sleep before SIGTERM and DRAIN_TIMEOUT together: what has not ended by then returns to its place in line.
  terminationGracePeriodSeconds: {{ if kindIs "invalid" $root.Values.terminationGracePeriodSeconds }}{{ include "paihao.grace" . }}{{ else }}{{ int64 $root.Values.terminationGracePeriodSeconds }}{{ end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    seccompProfile:
      type: RuntimeDefault
  # Spread, so that a node or zone that fails takes few of them.
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "paihao.labels" $ | nindent 10 }}
    {{- end }}
  containers:
    - name: paihao
      image: "{{ $root.Values.image.repository }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}"
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      env:
        - name: ROLE
          value: {{ .component }}
        - name: STORE
          value: external
        - name: PORT
          value: {{ include "paihao.port" . | quote }}
        {{- if include "paihao.handlers" $root }}
        - name: HANDLERS
          value: /app/handlers
        {{- end }}
        {{- range $name, $value := omit $own.config "PORT" }}
        - name: {{ $name }}
          value: {{ include "paihao.text" $value | quote }}
        {{- end }}
        {{- with $root.Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      envFrom:
        - configMapRef:
            name: {{ include "paihao.name" $root }}
        - secretRef:
            name: {{ include "paihao.secret" $root }}
      ports:
        - name: http
          containerPort: {{ include "paihao.port" . }}
      # Reading the handlers and connecting to Redis may take a while.
      startupProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 2
        failureThreshold: 30
      # Only checks that the process answers, not the store, so that an outage of Redis restarts nothing.
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- if eq .component "api" }}
      lifecycle:
        # The process keeps serving until the load balancers have noticed that it is stopping.
        preStop:
          exec:
            command: ["sleep", "5"]
      {{- end }}
      resources:
        {{- toYaml $own.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- if include "paihao.handlers" $root }}
        - name: handlers
          mountPath: /app/handlers
          readOnly: true
        {{- end }}
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- with include "paihao.handlers" $root }}
    - name: handlers
      configMap:
        name: {{ . }}
    {{- end }}
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $own.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- /* How many of a kind of process may be away at once. */}}
{{- define "paihao.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "paihao.name" .root }}-{{ .component }}
  labels:
    {{- include "paihao.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .root.Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "paihao.labels" . | nindent 6 }}
{{- end }}
