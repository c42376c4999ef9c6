#!/usr/bin/env bash
# Install the built wheel into a clean environment, fit the pipeline of the README, and run the smoke
# profile of every config. Configs that compare with other packages run last, after these are
# installed.
set -euo pipefail
cd "$(dirname "$0")/.."

wheel=$PWD/$(ls -t dist/greedyexp-*.whl | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "$wheel[sklearn]"
cp -r configs "$work/configs"
awk '/^```python/ { block = ""; inside = 1; next }
     /^```/ { if (block ~ /greedyexp.estimators/) printf "%s", block; block = ""; inside = 0; next }
     inside { block = block $0 "\n" }' README.md > "$work/pipeline.py"
cd "$work"
grep -q make_pipeline pipeline.py
venv/bin/python pipeline.py
echo "the pipeline of the README: fitted"
leave_out_without() { # arguments: a data set, a pattern of the generators that read it
    if ! venv/bin/greedyexp data where "$1" && ! venv/bin/greedyexp data fetch "$1"; then
        for config in $(grep -lE "generator: ($2)\b" configs/*.yaml); do
            echo "LEFT OUT: $config: its data are missing and cannot be downloaded"
            rm "$config"
        done
    fi
}
leave_out_without digits_mfeat digits_mfeat
leave_out_without leukemia 'leukemia|leukemia_classes|random_features'
leave_out_without libsvm_binary libsvm_binary
leave_out_without uci_adl_binary uci_adl
compared=$(ls configs/best_subset_today*.yaml)
alone=$(ls configs/*.yaml | grep -v configs/best_subset_today)
# shellcheck disable=SC2086
venv/bin/greedyexp run $alone --profile smoke --out "$work/results"
if venv/bin/greedyexp check $compared 2> message; then exit 1; fi
grep -q "pip install 'greedyexp\[peers\]'" message
venv/bin/pip install --quiet "$wheel[peers]"
venv/bin/greedyexp run $compared --profile smoke --out "$work/results"
for config in configs/*.yaml; do
    name=$(basename "$config" .yaml)
    ls "$work/results/$name/smoke/figures/"*.png "$work/results/$name/smoke/$name.csv"* > /dev/null
done
echo "smoke profile of every config: done"
