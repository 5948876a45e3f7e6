//! The nodes of a file. There can be millions, one for each plant: they are kept as text, which takes a
//! tenth of the memory of values.

use serde_json::{Value, json};

/// Nodes that are children of the root.
#[derive(Default)]
pub(super) struct Nodes {
    text: String,
    count: usize,
}

impl Nodes {
    pub fn push(&mut self, node: &Value) {
        if self.count > 0 {
            self.text.push(',');
        }
        self.text.push_str(&node.to_string());
        self.count += 1;
    }

    /// Bytes that they take in the file, at least, with their numbers.
    pub fn bytes(&self) -> u64 {
        self.text.len() as u64 + 2 * self.count as u64
    }

    /// Returns a document, a JSON object that is not empty, with these nodes and a root over them, also an
    /// object, which is the one node of its scene.
    pub fn in_document(&self, root: &Value, mut document: Value) -> String {
        document["scene"] = json!(0);
        document["scenes"] = json!([{ "name": "world", "nodes": [self.count] }]);
        let children: Vec<String> = (0..self.count).map(|child| child.to_string()).collect();
        let mut text = open_object(&document);
        text.push_str(",\"nodes\":[");
        if self.count > 0 {
            text.push_str(&self.text);
            text.push(',');
        }
        text.push_str(&open_object(root));
        if self.count > 0 {
            text.push_str(",\"children\":[");
            text.push_str(&children.join(","));
            text.push(']');
        }
        text.push_str("}]}");
        text
    }
}

/// An object without its end: members may follow.
fn open_object(object: &Value) -> String {
    let mut text = object.to_string();
    text.pop();
    text
}
