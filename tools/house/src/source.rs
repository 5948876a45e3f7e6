//! A crate as a tree of modules, each with its file, the names that it declares and those that it
//! imports. Items under `#[cfg(test)]` and `#[cfg(doctest)]` are left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenTree;
use syn::visit::Visit;
use syn::{Attribute, File, Item, Meta, UseTree, Visibility};

/// Index of a module in [`Krate::modules`].
pub type ModuleId = usize;

pub struct Module {
    pub parent: Option<ModuleId>,
    /// Below the crate's `src`.
    pub file: PathBuf,
    pub children: BTreeMap<String, Child>,
    /// Names that are declared here, and whether they are public.
    pub declared: BTreeMap<String, bool>,
    pub imports: Vec<Import>,
    /// Paths of at least two segments in the code of this module.
    pub paths: Vec<Vec<String>>,
}

#[derive(Clone, Copy)]
pub struct Child {
    pub id: ModuleId,
    pub is_public: bool,
}

/// `use path::name as alias`; a glob has the alias `*`.
#[derive(Clone)]
pub struct Import {
    pub path: Vec<String>,
    pub alias: String,
    pub is_public: bool,
    /// `pub(crate) use` and wider only pass a name on; the module itself may not need it.
    pub is_reexport: bool,
}

pub struct ParsedFile {
    pub path: PathBuf,
    pub syntax: File,
}

pub struct Krate {
    pub name: String,
    pub source: PathBuf,
    /// The root is the first.
    pub modules: Vec<Module>,
    /// Without files that only tests have.
    pub files: Vec<ParsedFile>,
}

impl Krate {
    /// Panics if the crate has no readable root, or a file that is not Rust.
    pub fn read(folder: &Path) -> Krate {
        let source = folder.join("src");
        let name = folder.file_name().expect("a crate has a name").to_string_lossy().into_owned();
        let mut krate = Krate { name, source, modules: Vec::new(), files: Vec::new() };
        let root = ["lib.rs", "main.rs"].into_iter().find(|root| krate.source.join(root).exists());
        let root = PathBuf::from(root.expect("a crate has a root"));
        krate.read_file(&root, None, Path::new(""));
        krate
    }

    /// Reads `file`, whose child modules lie in `folder`, and all below it.
    fn read_file(&mut self, file: &Path, parent: Option<ModuleId>, folder: &Path) -> ModuleId {
        let text = fs::read_to_string(self.source.join(file)).expect("source is readable");
        let syntax = syn::parse_file(&text)
            .unwrap_or_else(|error| panic!("{} is not Rust: {error}", file.display()));
        let id = self.add_module(file, parent);
        self.add_items(id, &syntax.items, folder);
        self.files.push(ParsedFile { path: file.to_owned(), syntax });
        id
    }

    fn add_module(&mut self, file: &Path, parent: Option<ModuleId>) -> ModuleId {
        self.modules.push(Module {
            parent,
            file: file.to_owned(),
            children: BTreeMap::new(),
            declared: BTreeMap::new(),
            imports: Vec::new(),
            paths: Vec::new(),
        });
        self.modules.len() - 1
    }

    fn add_items(&mut self, id: ModuleId, items: &[Item], folder: &Path) {
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let child = match &module.content {
                        Some((_, items)) => {
                            let file = self.modules[id].file.clone();
                            let child = self.add_module(&file, Some(id));
                            self.add_items(child, items, &folder.join(&name));
                            child
                        }
                        None => self.read_child(id, &name, &module.attrs, folder),
                    };
                    let is_public = is_public(&module.vis);
                    self.modules[id].children.insert(name, Child { id: child, is_public });
                }
                Item::Use(import) => {
                    let is_reexport = !matches!(import.vis, Visibility::Inherited);
                    let mut paths = Vec::new();
                    flatten(&import.tree, &mut Vec::new(), &mut paths);
                    self.modules[id].imports.extend(paths.into_iter().map(|(path, alias)| {
                        Import { path, alias, is_public: is_public(&import.vis), is_reexport }
                    }));
                }
                item => {
                    if let Some((name, visibility)) = declared(item) {
                        self.modules[id].declared.insert(name, is_public(visibility));
                    }
                    let mut paths = Paths(Vec::new());
                    paths.visit_item(item);
                    self.modules[id].paths.extend(paths.0);
                }
            }
        }
    }

    fn read_child(
        &mut self,
        parent: ModuleId,
        name: &str,
        attributes: &[Attribute],
        folder: &Path,
    ) -> ModuleId {
        if let Some(path) = path_attribute(attributes) {
            let file = self.modules[parent].file.parent().expect("a file has a folder").join(path);
            return self.read_file(&file, Some(parent), &folder.join(name));
        }
        let flat = folder.join(format!("{name}.rs"));
        let file = match self.source.join(&flat).exists() {
            true => flat,
            false => folder.join(name).join("mod.rs"),
        };
        self.read_file(&file, Some(parent), &folder.join(name))
    }
}

/// Paths of two segments or more, those in macros included.
struct Paths(Vec<Vec<String>>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.0.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        let mut idents = Vec::new();
        collect_paths(invocation.tokens.clone(), &mut idents, &mut self.0);
        syn::visit::visit_macro(self, invocation);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }
}

fn collect_paths(
    tokens: proc_macro2::TokenStream,
    path: &mut Vec<String>,
    paths: &mut Vec<Vec<String>>,
) {
    let mut colons = 0;
    let mut end = |path: &mut Vec<String>| {
        if path.len() > 1 {
            paths.push(std::mem::take(path));
        }
        path.clear();
    };
    let mut groups = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    end(path);
                }
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                end(path);
                groups.push(group.stream());
                colons = 0;
            }
            _ => {
                end(path);
                colons = 0;
            }
        }
    }
    end(path);
    for group in groups {
        collect_paths(group, &mut Vec::new(), paths);
    }
}

fn flatten(tree: &UseTree, path: &mut Vec<String>, paths: &mut Vec<(Vec<String>, String)>) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            flatten(&part.tree, path, paths);
            path.pop();
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            let (full, alias) = match name.as_str() {
                "self" => (path.clone(), path.last().cloned().unwrap_or_default()),
                _ => ([path.as_slice(), std::slice::from_ref(&name)].concat(), name),
            };
            paths.push((full, alias));
        }
        UseTree::Rename(rename) => {
            let full = [path.as_slice(), &[rename.ident.to_string()]].concat();
            paths.push((full, rename.rename.to_string()));
        }
        UseTree::Glob(_) => paths.push((path.clone(), "*".to_owned())),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, path, paths);
            }
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn declared(item: &Item) -> Option<(String, &Visibility)> {
    let (ident, visibility) = match item {
        Item::Const(item) => (&item.ident, &item.vis),
        Item::Enum(item) => (&item.ident, &item.vis),
        Item::Fn(item) => (&item.sig.ident, &item.vis),
        Item::Static(item) => (&item.ident, &item.vis),
        Item::Struct(item) => (&item.ident, &item.vis),
        Item::Trait(item) => (&item.ident, &item.vis),
        Item::Type(item) => (&item.ident, &item.vis),
        Item::Union(item) => (&item.ident, &item.vis),
        _ => return None,
    };
    Some((ident.to_string(), visibility))
}

pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an item is compiled only for tests or for examples in the documentation.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let text = list.tokens.to_string();
            matches!(text.as_str(), "test" | "doctest")
                || (text.starts_with("all") && text.contains("test") && !text.contains("not"))
        }
        Meta::Path(path) => path.is_ident("test"),
        _ => false,
    })
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}
