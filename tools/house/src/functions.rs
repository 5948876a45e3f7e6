//! Functions that do not fit on a screen.

use syn::visit::Visit;
use syn::{Block, Ident, ImplItemFn, Item, ItemFn};

use crate::Measure;
use crate::source::{Krate, attributes, is_for_tests};

const MAX_LINES: usize = 60;

struct Long<'a> {
    file: String,
    found: &'a mut Vec<(usize, String)>,
}

impl Long<'_> {
    fn look(&mut self, name: &Ident, block: &Block) {
        let lines = block.brace_token.span.close().end().line - name.span().start().line + 1;
        if lines > MAX_LINES {
            self.found.push((lines, format!("{}: {name}", self.file)));
        }
    }
}

impl<'ast> Visit<'ast> for Long<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.look(&function.sig.ident, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.look(&function.sig.ident, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }
}

pub fn report(crates: &[Krate]) -> Vec<Measure> {
    let mut found = Vec::new();
    for krate in crates {
        for file in &krate.files {
            let file_name = format!("{}/{}", krate.name, file.path.display());
            Long { file: file_name, found: &mut found }.visit_file(&file.syntax);
        }
    }
    found.sort();
    println!("\n== functions over {MAX_LINES} lines");
    for (lines, place) in found.iter().rev() {
        println!("    {lines:>4} {place}");
    }
    vec![Measure::new("functions_over_60_lines", found.len())]
}
