//! Files for the tests, chunk by chunk.

/// A file of these chunks.
pub fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
    let main = chunks.concat();
    let mut out = [&b"VOX "[..], &numbers(&[150]), b"MAIN", &numbers(&[0])].concat();
    out.extend((main.len() as u32).to_le_bytes());
    out.extend(main);
    out
}

pub fn chunk(id: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&id[..], &numbers(&[content.len() as u32, 0]), content].concat()
}

pub fn numbers(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub fn dictionary(entries: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&numbers(&[text.len() as u32])[..], text.as_bytes()].concat();
    let entry = |(key, value): &(&str, &str)| [text(key), text(value)].concat();
    [numbers(&[entries.len() as u32]), entries.iter().flat_map(entry).collect()].concat()
}

/// SIZE and XYZI.
pub fn model(size: [u32; 3], voxels: &[[u8; 4]]) -> Vec<u8> {
    let content = [numbers(&[voxels.len() as u32]), voxels.concat()].concat();
    [chunk(b"SIZE", &numbers(&size)), chunk(b"XYZI", &content)].concat()
}

/// A transform with one frame.
pub fn transform(
    [id, child, layer]: [u32; 3],
    attributes: &[(&str, &str)],
    frame: &[(&str, &str)],
) -> Vec<u8> {
    let head = [numbers(&[id]), dictionary(attributes), numbers(&[child, u32::MAX, layer, 1])];
    chunk(b"nTRN", &[head.concat(), dictionary(frame)].concat())
}

pub fn group(id: u32, children: &[u32]) -> Vec<u8> {
    let head = [numbers(&[id]), dictionary(&[]), numbers(&[children.len() as u32])];
    chunk(b"nGRP", &[head.concat(), numbers(children)].concat())
}

/// A shape with these models, each of a frame.
pub fn shape(id: u32, models: &[u32]) -> Vec<u8> {
    let frames = models.iter().flat_map(|model| [numbers(&[*model]), dictionary(&[])].concat());
    let head = [numbers(&[id]), dictionary(&[]), numbers(&[models.len() as u32])];
    chunk(b"nSHP", &[head.concat(), frames.collect()].concat())
}

pub fn layer(id: u32, attributes: &[(&str, &str)]) -> Vec<u8> {
    chunk(b"LAYR", &[numbers(&[id]), dictionary(attributes), numbers(&[u32::MAX])].concat())
}

/// Two models, a turned one in two groups and a moved one of two frames; one in a hidden layer and
/// one that is hidden; chunks that are skipped.
pub fn scene() -> Vec<u8> {
    file(&[
        chunk(b"PACK", &numbers(&[2])),
        model([3, 2, 1], &[[0, 0, 0, 1], [1, 0, 0, 2], [2, 1, 0, 3]]),
        model([1, 1, 1], &[[0, 0, 0, 4]]),
        transform([0, 1, u32::MAX], &[("_name", "all")], &[]),
        group(1, &[2, 6, 8, 10]),
        transform([2, 3, 0], &[], &[("_t", "10 20 30")]),
        group(3, &[4]),
        // Rows 0 −1 0, 1 0 0 and 0 0 1: a quarter turn about z.
        transform([4, 5, 0], &[], &[("_r", "17"), ("_t", "1 2 3")]),
        shape(5, &[0]),
        transform([6, 7, 3], &[], &[]),
        shape(7, &[1]),
        transform([8, 9, 0], &[("_hidden", "1")], &[("_t", "1 1 1")]),
        shape(9, &[1]),
        transform([10, 11, 0], &[("_hidden", "0")], &[("_t", "-5 0 0"), ("_f", "0")]),
        shape(11, &[1, 0]),
        layer(0, &[("_name", "ground")]),
        layer(3, &[("_name", "notes"), ("_hidden", "1")]),
        chunk(b"rOBJ", &[9; 40]),
    ])
}
