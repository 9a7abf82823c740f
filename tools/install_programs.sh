#!/bin/sh
# What some tests need beside Python, where it can be installed at once: a browser for the HTML report, Graphviz for the
# pictures.  Those tests are skipped where it is missing.
# Never fails; it gives up after a minute where the network does not answer, and after six at most.

missing=
for name in chromium chromium-browser google-chrome google-chrome-stable none; do
    command -v "$name" >/dev/null 2>&1 && break
done
[ "$name" = none ] && missing=chromium
command -v dot >/dev/null 2>&1 || missing="$missing graphviz"
[ -n "$missing" ] && command -v apt-get >/dev/null 2>&1 || exit 0
if [ "$(id -u)" = 0 ]; then
    as=
elif [ -n "${CI:-}" ] && sudo -n true 2>/dev/null; then  # not on people's own machines
    as="sudo -n"
else
    echo "not here:" $missing "- tests of the report and of pictures are skipped (apt-get install" $missing")"
    exit 0
fi

apt() {  # seconds, arguments
    seconds=$1
    shift
    timeout "$seconds" $as env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
        -o APT::Update::Error-Mode=any -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10 \
        -o Acquire::Retries=0 -o DPkg::Lock::Timeout=20 "$@" </dev/null >/dev/null 2>&1
}

echo "installing" $missing "for the tests of the HTML report and of pictures"
apt 60 update && apt 300 install --no-install-recommends $missing ||
    echo "could not install" $missing "- these tests are skipped"
exit 0
