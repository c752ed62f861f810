#!/bin/sh
# Is there a Java that Spark can run on? If not, the first line says what is wrong, the rest how to mend it.
# Looks where Spark looks: JAVA_HOME/bin/java if JAVA_HOME is set, else java on PATH.

NEEDED=17

main() {
    if [ -n "${JAVA_HOME:-}" ]; then
        java=$JAVA_HOME/bin/java
        [ -x "$java" ] || fail "Java is missing: JAVA_HOME is $JAVA_HOME, and there is no bin/java in it."
    else
        java=$(command -v java) || fail "Java is missing: there is no java on PATH, and JAVA_HOME is not set."
    fi

    output=$("$java" -version 2>&1) || fail "Java is missing or broken: $java does not start." "$output"
    version=$(version_in "$output")
    major=$(major_of "$version")
    [ -n "$major" ] || fail "Java is unknown: $java does not say its version." "$output"
    [ "$major" -ge "$NEEDED" ] || fail "Java is too old: $java is version $version."
    printf '%s\n' "Java $version: $java"
}

# The quoted version, on whichever line it is: JAVA_TOOL_OPTIONS makes Java print others before it.
version_in() {
    while IFS= read -r line; do
        case $line in
        'java version "'* | 'openjdk version "'*)
            line=${line#*\"}
            printf '%s\n' "${line%%\"*}"
            return
            ;;
        esac
    done <<END
$1
END
}

# 17.0.15 -> 17    25-ea -> 25    1.8.0_392 -> 8
major_of() {
    after_one=${1#1.}
    echo "${after_one%%[!0-9]*}"
}

# fail PROBLEM [DETAIL...]
fail() {
    {
        printf '%s\n' "$@"
        echo "Panes runs on Spark, and Spark needs Java $NEEDED or newer."
        how_to_install
        if [ -n "${JAVA_HOME:-}" ]; then
            echo "Then point JAVA_HOME at it, or unset JAVA_HOME to use the java on PATH."
        fi
    } >&2
    exit 1
}

how_to_install() {
    if [ "$(uname -s 2>/dev/null)" = Darwin ]; then
        echo "On macOS:"
        echo "    brew install openjdk@17"
        echo "    export JAVA_HOME=\"\$(brew --prefix openjdk@17)\""
    elif command -v apt-get >/dev/null; then
        echo "On Debian and Ubuntu:"
        echo "    sudo apt install openjdk-17-jre-headless"
        echo "or, where that is not offered:"
        echo "    sudo apt install openjdk-21-jre-headless"
    elif command -v dnf >/dev/null; then
        echo "On Fedora:"
        echo "    sudo dnf install java-21-openjdk-headless"
    else
        echo "On Windows:"
        echo "    winget install EclipseAdoptium.Temurin.17.JDK"
        echo "Elsewhere: with your package manager, or from https://adoptium.net"
    fi
}

main
