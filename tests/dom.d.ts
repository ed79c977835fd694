// For `tsc`: an element that a script looks up may be of any kind, because the markup is in templates. The browser tests
// show that both agree.

interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}

interface Element {
  closest(selectors: string): any;
}

interface Document {
  getElementById(id: string): any;
  readonly activeElement: any;
}

interface Node {
  cloneNode(subtree?: boolean): any;
}

interface EventTarget {
  closest(selectors: string): any;
}

// Catalogue of `sentences/<language>.js`.
declare var sentences: Record<string, any> | undefined;
