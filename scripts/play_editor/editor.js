// The editor of `panes play`: CodeMirror with Panes' SQL, errors underlined, all colours from CSS variables of the page.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--code-name)" },
  { tag: [tags.lineComment, tags.blockComment], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.operator, tags.punctuation], color: "var(--code-sign)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "transparent", fontSize: "13.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--accent)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--line-active)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)", color: "inherit" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad) 1.5px",
    textUnderlineOffset: "3px",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--ink)",
    border: "1px solid var(--edge)",
    borderRadius: "8px",
    boxShadow: "var(--shadow)",
    overflow: "hidden",
  },
  ".cm-tooltip-lint": { maxWidth: "36rem", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)", padding: "6px 10px" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)" },
});

/** The word under the cursor, completed from `words`, which may be called again and again. */
function fromWords(words) {
  return (context) => {
    const word = context.matchBefore(/\w+/);
    if (!word && !context.explicit) return null;
    const options = words().map((label) => ({ label }));
    return { from: word ? word.from : context.pos, options, validFor: /^\w*$/ };
  };
}

/**
 * An editor in `parent`. `changed(text)` is called after each change, `run()` on Ctrl-Enter; `dialect` has Panes' words
 * in three texts: keywords, builtin, types.
 */
export function editorIn(parent, { text, label, nonce, dialect, words, changed, run }) {
  let quiet = false;
  const language = SQLDialect.define({ ...dialect, backslashEscapes: true, identifierQuotes: "`", doubleQuotedStrings: true });
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(nonce),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        indentUnit.of("  "),
        sql({ dialect: language, upperCaseKeywords: true }),
        autocompletion({ override: [fromWords(words)], icons: false }),
        syntaxHighlighting(colours),
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }])),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        EditorView.updateListener.of((update) => update.docChanged && !quiet && changed(update.state.doc.toString())),
        look,
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    /** Show another text, of which `changed` is not told. */
    replace(next) {
      quiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      quiet = false;
    },
    focus: () => view.focus(),
    /** Underline errors: [{from, to, message}]. */
    underline(errors) {
      const length = view.state.doc.length;
      const shown = errors.map(({ from, to, message }) => {
        const start = Math.min(from, length);
        return { from: start, to: Math.max(start, Math.min(to, length)), severity: "error", message };
      });
      view.dispatch(setDiagnostics(view.state, shown));
    },
  };
}
