//! `join`: a guest of a world that is served, for scripts.

use super::edit::parse_operation;
use super::import::add_notes;
use super::lod::add_shown;
use super::render::{camera, options, take, write_png};
use super::render_extras::buried;
use crate::args::JoinArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::lod_view::{HILLS_CAMERA_M, make_ground, show_filled, viewpoint};
use crate::output::Output;
use crate::report::Report;
use crate::world::extension;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use terravox::bodies::BodyPose;
use terravox::edit::EditOp;
use terravox::generate::Seeded;
use terravox::lod::LodOptions;
use terravox::replicate::{GeneratorId, Guest, GuestEvent, Interest, SharedBodyKind};
use terravox::terrain::FillRequest;
use terravox::voxel::{DenseBox, GridOptions, VoxelGrid};
use terravox_render::Scene;
use terravox_server::{Client, ClientError, ClientOptions, ServerReason};
use terravox_store::{Column, WorldInfo};

/// Between two polls of the link.
const FRAME: Duration = Duration::from_millis(5);

/// Between two attempts to connect again.
const RETRY: Duration = Duration::from_millis(500);

/// Without progress for this long, waiting ends.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum number of operations in flight; a guest allows 256.
const MAX_PENDING: usize = 200;

/// After an operation was refused as its column has no server yet, until it is sent again; and how
/// long that is tried.
const CLAIM_PAUSE: Duration = Duration::from_millis(100);
const CLAIM_PATIENCE: Duration = Duration::from_secs(10);

/// Columns of an operation that are told apart: a server refuses those that reach further.
const MAX_COLUMNS: usize = 9;

/// At the end, for the message that the last operations are saved. Servers that share a world save
/// within some 20 ms.
const SAVE_PATIENCE: Duration = Duration::from_secs(1);

/// Between two checks of the progress, each of which visits all blocks.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

pub fn run(args: &JoinArgs, console: &Console) -> CliResult<Report> {
    check(args)?;
    let start = Instant::now();
    let token = args.token.clone().into_bytes();
    let options = ClientOptions { token, fingerprint: args.fingerprint };
    let mut client = Client::connect(&args.address, options).map_err(Failure::new)?;
    use_cache(&mut client, args)?;
    let mut visit = Visit::new(client, args);
    let busy = console.busy("joining");
    visit.wait(|visit| visit.info.is_some(), "for the world")?;
    let welcomed = start.elapsed();
    let operations = visit.operations()?;
    visit.wait(|visit| visit.client.guest().is_complete(), "for all that is seen")?;
    drop(busy);
    let complete = start.elapsed();
    let stay = Duration::from_secs_f64(args.seconds.unwrap_or(0.0));
    visit.reconnects_until = Instant::now() + stay;
    visit.send_all(operations)?;
    let edited = Instant::now();
    visit.reconnects_until = edited + stay;
    while edited.elapsed() < stay {
        if let Some(route) = &args.follow {
            visit.eye_m = route.at(edited.elapsed().as_secs_f64() / stay.as_secs_f64());
        }
        visit.frame()?;
    }
    if let Some(route) = &args.follow {
        visit.eye_m = route.at(1.0);
    }
    let is_settled =
        |visit: &mut Visit<'_>| !visit.has_unanswered() && visit.client.guest().is_complete();
    visit.wait(is_settled, "for the replies to all edits")?;
    visit.wait_for_saves();
    let mut report = visit.report(console)?;
    report.time("welcomed_ms", "welcomed", welcomed);
    report.time("complete_ms", "all there", complete);
    if let Some(path) = &args.render {
        visit.render(path, console, &mut report)?;
    }
    visit.keep_cache(&mut report)?;
    visit.fail_if_refused()?;
    Ok(report)
}

fn check(args: &JoinArgs) -> CliResult<()> {
    if let Some(path) = args.render.as_ref().filter(|path| extension(path) != "png") {
        return Err(Failure::of(path, "unsupported extension; use .png"));
    }
    if args.view.mip.is_some() {
        return Err(Failure::new("--mip is for render only; give --distance and --detail"));
    }
    if args.name.len() > Guest::MAX_AVATAR_BYTES {
        return Err(Failure::new("the name is too long; at most 256 bytes"));
    }
    if args.token.len() > terravox_server::AccessList::MAX_TOKEN {
        return Err(Failure::new("the token is too long; at most 256 bytes"));
    }
    Ok(())
}

/// Takes what was held at the end of an earlier visit.
fn use_cache(client: &mut Client, args: &JoinArgs) -> CliResult<()> {
    let Some(path) = args.cache.as_ref().filter(|path| path.exists()) else { return Ok(()) };
    let bytes = fs::read(path).map_err(Failure::at(path))?;
    let used = client.guest().use_cache(&bytes);
    used.map_err(|error| Failure::of(path, format!("{error}; remove the file")))
}

/// An operation, and since when it is refused because no server has its column yet.
struct Attempt {
    op: EditOp,
    refused_since: Option<Instant>,
}

/// The operations of a guest, and what became of them.
#[derive(Default)]
struct Outcomes {
    /// How many there are.
    given: u64,
    confirmed: u64,
    /// Those that changed nothing.
    without_effect: u64,
    /// Numbers of those that the server has not said to be on disk; how many these were when a
    /// link broke: another server may have come, without them.
    unsaved: Vec<u64>,
    unsaved_at_breaks: u64,
    /// Why operations were refused.
    refused: Vec<String>,
    /// Edits of others that were seen.
    others: u64,
}

/// A guest in a world.
struct Visit<'a> {
    args: &'a JoinArgs,
    client: Client,
    /// Scale and materials; `None` until the server has let this guest in.
    info: Option<WorldInfo>,
    /// The generator of the world, if it is ours.
    seeded: Option<Seeded>,
    eye_m: [f64; 3],
    outcomes: Outcomes,
    reconnects: u64,
    reconnects_until: Instant,
    /// Operations that are to be repeated once the server has let this guest in again.
    unrepeated: Vec<EditOp>,
    /// Operations without a reply, by their numbers.
    sent: BTreeMap<u64, Attempt>,
    /// Operations that are to be sent again, and when.
    again: VecDeque<(Instant, Attempt)>,
    /// Columns of which the first operation has its reply, and those that got no server in time.
    tried: BTreeSet<Column>,
    unserved: BTreeSet<Column>,
}

impl<'a> Visit<'a> {
    fn new(client: Client, args: &'a JoinArgs) -> Visit<'a> {
        let first = args.follow.as_ref().map(|route| route.at(0.0));
        let above =
            |&[x, y, z]: &[f64; 3]| [x, y + 2.0 * args.radius + 8.0, z + 3.0 * args.radius + 8.0];
        let eye_m = first.or(args.view.camera).or(args.dig.first().map(above));
        Visit {
            args,
            client,
            info: None,
            seeded: None,
            eye_m: eye_m.unwrap_or(HILLS_CAMERA_M),
            outcomes: Outcomes::default(),
            reconnects: 0,
            unrepeated: Vec::new(),
            sent: BTreeMap::new(),
            again: VecDeque::new(),
            tried: BTreeSet::new(),
            unserved: BTreeSet::new(),
            reconnects_until: Instant::now(),
        }
    }

    /// Does what there is to do, and rests.
    fn frame(&mut self) -> CliResult<()> {
        let seeded = &self.seeded;
        let polled = self.client.poll(|request| make_ground(seeded.as_ref(), request));
        // First: what came just before a link broke counts, too.
        self.take_events();
        if let Err(error) = polled {
            return match error.is_transient() && Instant::now() < self.reconnects_until {
                true => self.reconnect(),
                false => Err(self.after_edits(ended(self.args, &error))),
            };
        }
        if self.info.is_some() {
            for op in std::mem::take(&mut self.unrepeated) {
                self.send(Attempt { op, refused_since: None })?;
            }
            while self.again.front().is_some_and(|(due, _)| *due <= Instant::now())
                && let Some((_, attempt)) = self.again.pop_front()
            {
                self.send(attempt)?;
            }
        }
        if let Some(info) = &self.info {
            let eye = info.placement().voxel_from_world(self.eye_m);
            let interest = interest(self.args, info);
            self.client.guest().watch(&[eye], &interest);
            let pose = BodyPose { position_voxels: eye, rotation: [0.0, 0.0, 0.0, 1.0] };
            self.client.guest().set_avatar(&pose, self.args.name.as_bytes());
        }
        thread::sleep(FRAME);
        Ok(())
    }

    fn take_events(&mut self) {
        let events: Vec<_> = self.client.guest().events().collect();
        for event in events {
            match event {
                GuestEvent::Welcome { generator, .. } => self.start(generator.as_ref()),
                GuestEvent::Confirmed { number, has_changed } => {
                    self.sent.remove(&number);
                    self.outcomes.confirmed += 1;
                    self.outcomes.unsaved.push(number);
                    self.outcomes.without_effect += u64::from(!has_changed);
                }
                GuestEvent::Saved { first, last } => {
                    self.outcomes.unsaved.retain(|own| !(first..=last).contains(own));
                }
                GuestEvent::Refused { number, code, reason } => {
                    let is_early =
                        ServerReason::of_refusal(code) == Some(ServerReason::NotServedYet);
                    let attempt = self.sent.remove(&number).filter(|_| is_early);
                    if attempt.is_none_or(|attempt| !self.tries_again(attempt)) {
                        self.outcomes.refused.push(reason);
                    }
                }
                GuestEvent::Edited { .. } => self.outcomes.others += 1,
                _ => {}
            }
        }
    }

    /// Sends all operations. The first one in a column goes alone: if no server has that yet, it is
    /// sent again, and those that follow it must not come before it.
    fn send_all(&mut self, operations: Vec<EditOp>) -> CliResult<()> {
        for op in operations {
            let columns = columns_of(&op);
            let is_first = columns.iter().any(|column| !self.tried.contains(column));
            if is_first {
                self.wait(|visit| !visit.has_unanswered(), "for replies to edits")?;
            } else if self.client.guest().pending_edits() >= MAX_PENDING {
                let has_room =
                    |visit: &mut Visit<'_>| visit.client.guest().pending_edits() < MAX_PENDING / 2;
                self.wait(has_room, "for replies to edits")?;
            }
            self.send(Attempt { op, refused_since: None })?;
            if is_first {
                self.wait(|visit| !visit.has_unanswered(), "for the reply to an edit")?;
                self.tried.extend(columns);
            }
        }
        Ok(())
    }

    fn send(&mut self, attempt: Attempt) -> CliResult<()> {
        let edited = self.client.guest().edit(&attempt.op);
        let number = edited.map_err(|error| self.after_edits(Failure::new(error)))?;
        self.sent.insert(number, attempt);
        Ok(())
    }

    /// Has an operation that was refused, as its column has no server yet, sent again; false if that
    /// was tried for long enough.
    fn tries_again(&mut self, mut attempt: Attempt) -> bool {
        let now = Instant::now();
        let refused_since = *attempt.refused_since.get_or_insert(now);
        let columns = columns_of(&attempt.op);
        if now - refused_since > CLAIM_PATIENCE
            || columns.iter().any(|column| self.unserved.contains(column))
        {
            self.unserved.extend(columns);
            return false;
        }
        self.again.push_back((now + CLAIM_PAUSE, attempt));
        true
    }

    /// Whether an operation has no reply, or is to be sent again.
    fn has_unanswered(&mut self) -> bool {
        !self.unrepeated.is_empty()
            || !self.again.is_empty()
            || self.client.guest().pending_edits() > 0
    }

    /// Waits a moment for the message that the last operations are saved. They have their replies, so
    /// that the link may break now.
    fn wait_for_saves(&mut self) {
        let start = Instant::now();
        while !self.outcomes.unsaved.is_empty()
            && start.elapsed() < SAVE_PATIENCE
            && self.frame().is_ok()
        {}
    }

    fn start(&mut self, generator: Option<&GeneratorId>) {
        self.seeded = generator.and_then(GeneratorId::seeded);
        let guest = self.client.guest();
        guest.start(self.seeded.is_some());
        let (Some(placement), Some(grid)) = (guest.placement(), guest.grid()) else { return };
        self.info = Some(WorldInfo {
            voxel_size_m: placement.voxel_size_m,
            origin_m: placement.origin_m,
            materials: grid.materials().clone(),
            ..WorldInfo::default()
        });
    }

    /// Connects again; operations without a reply are repeated once it has let this guest in.
    fn reconnect(&mut self) -> CliResult<()> {
        loop {
            // Also before the first attempt: a server that takes each connection and ends it must
            // not be asked without a pause.
            thread::sleep(RETRY);
            match self.client.reconnect() {
                Ok(lost) => {
                    self.reconnects += 1;
                    let unsaved = std::mem::take(&mut self.outcomes.unsaved);
                    self.outcomes.unsaved_at_breaks += unsaved.len() as u64;
                    self.info = None;
                    self.sent.clear();
                    self.unrepeated.extend(lost);
                    return Ok(());
                }
                Err(error) if !error.is_transient() || Instant::now() >= self.reconnects_until => {
                    let what = "the link broke, and the server was not reached again";
                    let what = format!("{what}: {error}{}", token_hint(self.args, &error));
                    return Err(self.after_edits(Failure::new(what)));
                }
                Err(_) => {}
            }
        }
    }

    /// What was reached: the welcome, blocks that are there, replies to edits, and connections.
    /// Bytes alone are no progress: any server can send some for ever.
    fn progress(&mut self) -> u64 {
        let Outcomes { confirmed, refused, .. } = &self.outcomes;
        let replies = confirmed + refused.len() as u64;
        let guest = self.client.guest();
        let blocks = guest.blocks().filter(|&block| guest.has(block)).count() as u64;
        u64::from(self.info.is_some()) + blocks + replies + self.reconnects
    }

    /// Waits until a condition holds, as long as there is progress, for a limited time.
    fn wait(&mut self, is_met: impl Fn(&mut Visit<'a>) -> bool, what: &str) -> CliResult<()> {
        let start = Instant::now();
        let (mut most, mut since, mut looked) = (self.progress(), start, start);
        // A frame first: it asks for what is to be waited for.
        self.frame()?;
        while !is_met(self) {
            self.frame()?;
            if looked.elapsed() > PROGRESS_INTERVAL {
                looked = Instant::now();
                let progress = self.progress();
                if progress > most {
                    (most, since) = (progress, looked);
                }
            }
            let given_up = if since.elapsed() > PATIENCE {
                format!("waited {what}, and nothing of it came for {} s", PATIENCE.as_secs())
            } else if start.elapsed().as_secs_f64() > self.args.timeout {
                let seconds = self.args.timeout;
                format!("waited {what} for {seconds} s; give more time with --timeout")
            } else {
                continue;
            };
            return Err(self.after_edits(Failure::new(given_up)));
        }
        Ok(())
    }

    /// The operations of the arguments, in voxels.
    fn operations(&mut self) -> CliResult<Vec<EditOp>> {
        let Some(info) = &self.info else { return Ok(Vec::new()) };
        let dig = |&centre: &[f64; 3]| {
            info.placement().op_in_voxels(&EditOp::dig_ball(centre, self.args.radius))
        };
        let mut operations: Vec<EditOp> = self.args.dig.iter().map(dig).collect();
        for text in &self.args.edit {
            let parsed = parse_operation(text, info);
            operations.push(parsed.map_err(|what| Failure::new(format!("{text:?}: {what}")))?);
        }
        self.outcomes.given = operations.len() as u64;
        Ok(operations)
    }

    /// A failure with what became of the operations, if there are some.
    fn after_edits(&self, failure: Failure) -> Failure {
        let Outcomes { given, confirmed, .. } = self.outcomes;
        if given == 0 {
            return failure;
        }
        let unsaved = self.unsaved();
        let counts = format!(
            "{confirmed} of {given} operations confirmed, {unsaved} of them not known to be saved"
        );
        self.counted(Failure::new(format!("{failure}; {counts}")))
    }

    /// A failure with the numbers for scripts, and the exit code that they mean.
    fn counted(&self, failure: Failure) -> Failure {
        let Outcomes { confirmed, refused, .. } = &self.outcomes;
        let counts = vec![
            ("confirmed", *confirmed),
            ("unsaved", self.unsaved()),
            ("refused", refused.len() as u64),
        ];
        let failure = failure.with_counts(counts);
        if *confirmed > 0 { failure.after_change() } else { failure }
    }

    /// Confirmed operations that the server has not reported as saved.
    fn unsaved(&self) -> u64 {
        self.outcomes.unsaved.len() as u64 + self.outcomes.unsaved_at_breaks
    }

    fn fail_if_refused(&self) -> CliResult<()> {
        let Outcomes { confirmed, refused, .. } = &self.outcomes;
        let Some(first) = refused.first() else { return Ok(()) };
        let (count, all) = (refused.len(), confirmed + refused.len() as u64);
        let unsaved = self.unsaved();
        let what = format!(
            "the server refused {count} of {all} operations ({confirmed} confirmed, {unsaved} of them \
             not known to be saved); the first: {first}"
        );
        Err(self.counted(Failure::new(what)))
    }

    /// Keeps what is held for the next visit.
    fn keep_cache(&mut self, report: &mut Report) -> CliResult<()> {
        let Some(path) = &self.args.cache else { return Ok(()) };
        let mut output = Output::create(path)?;
        let written = output.writer().write_all(&self.client.guest().cache());
        written.map_err(Failure::at(path))?;
        report.bytes("cache_bytes", "cache", output.finish()?);
        Ok(())
    }

    fn report(&mut self, console: &Console) -> CliResult<Report> {
        let mut report = Report::new("join");
        report.text_line("address", "address", self.args.address.to_string());
        report.count("confirmed", "own edits", self.outcomes.confirmed);
        report.count("without_effect", "without effect", self.outcomes.without_effect);
        report.count("unsaved", "not known to be saved", self.unsaved());
        report.count("refused", "refused", self.outcomes.refused.len() as u64);
        report.count("others", "edits of others", self.outcomes.others);
        let (mut pieces, mut avatars) = (0, 0);
        for (_, body) in self.client.guest().bodies() {
            pieces += u64::from(body.kind == SharedBodyKind::Loose);
            avatars += u64::from(matches!(body.kind, SharedBodyKind::Avatar(_)));
        }
        report.count("pieces", "falling pieces", pieces);
        report.count("avatars", "others seen", avatars);
        report.count("reconnects", "reconnects", self.reconnects);
        report.count("held_blocks", "blocks held", self.client.guest().blocks().count() as u64);
        report.bytes("received_bytes", "received", self.client.bytes_received());
        let _busy = console.busy("digest");
        let digest = digest(self.client.guest(), &self.seeded)?;
        report.text_line("digest", "digest", format!("{digest:032x}"));
        Ok(report)
    }

    /// Renders what this guest sees.
    fn render(&mut self, path: &Path, console: &Console, report: &mut Report) -> CliResult<()> {
        let Some(info) = self.info.clone() else { return Ok(()) };
        let output = Output::create(path)?;
        let start = Instant::now();
        let seeded = &self.seeded;
        let guest: &Guest = self.client.guest();
        let viewpoint = viewpoint(&info, self.eye_m, self.args.levels())?;
        let fill = |request: &mut FillRequest<'_>| {
            let is_here = guest.has(request.block());
            guest.fill(request, |request| make_ground(seeded.as_ref(), request));
            is_here
        };
        let view = show_filled(info, viewpoint, self.args.levels(), console, fill, || false);
        add_shown(&view, report);
        let mut scene = Scene::of_shown_meshes(&view.snapshot, &view.meshes, view.viewpoint);
        scene.set_textures(terravox::mesh::shade::UNSET);
        let mut args = self.args.view.clone();
        args.camera = Some(self.eye_m);
        if self.args.view.camera.is_none() && self.args.follow.is_none() && args.yaw.is_none() {
            args.look = args.look.or(self.args.dig.first().copied());
        }
        let options = options(&args);
        let camera = camera(&view.info, &scene, &args, options.aspect());
        add_notes(buried(&view.info, &scene, camera.eye).as_slice(), report);
        let picture = take(&scene, &camera, &options, console);
        report.bytes("file_bytes", "written", write_png(output, path, &picture.image)?);
        report.time("render_ms", "render", start.elapsed());
        Ok(())
    }
}

/// Columns that an operation changes, in which other ones must not come before it. Its own rounding
/// of lengths moves none of its edges by a voxel.
fn columns_of(op: &EditOp) -> Vec<Column> {
    let region = op.region().unwrap_or_default();
    Column::touched_by(region).take(MAX_COLUMNS).collect()
}

/// Why a link ended for good.
fn ended(args: &JoinArgs, error: &ClientError) -> Failure {
    Failure::new(format!("{}: {error}{}", args.address, token_hint(args, error)))
}

/// How to give the token, if the server did not accept it.
fn token_hint(args: &JoinArgs, error: &ClientError) -> &'static str {
    let reason = error.link_end().and_then(ServerReason::of_link_end);
    let has_right =
        ["look:", "edit:", "administer:"].iter().any(|right| args.token.starts_with(right));
    match reason == Some(ServerReason::UnknownToken) {
        true if args.token.is_empty() => "; give it with --token WORD",
        true if has_right => "; give only the WORD of RIGHT:WORD[:NAME]",
        _ => "",
    }
}

/// What is wanted, so that the levels of detail that are shown are there: a mesh also reads cells
/// of the blocks around its own, blocks stay split a little beyond their distance, and the coarsest
/// ones reach over the view by their edge, at most half of it.
fn interest(args: &JoinArgs, info: &WorldInfo) -> Interest {
    let shown = LodOptions { detail: args.detail, ..LodOptions::default() };
    Interest::for_lod(&shown, args.distance / info.voxel_size_m)
}

/// The digest of all cells of mip 0 that a guest holds, as that of a world of them alone.
fn digest(guest: &Guest, seeded: &Option<Seeded>) -> CliResult<u128> {
    let materials = guest.grid().map(|grid| grid.materials().clone()).unwrap_or_default();
    let mut grid = VoxelGrid::new(GridOptions { materials, ..GridOptions::default() });
    let mut cells = DenseBox::default();
    for block in guest.blocks().filter(|block| block.mip == 0) {
        if guest.read(block, |request| make_ground(seeded.as_ref(), request), &mut cells) {
            grid.write(&cells).map_err(Failure::new)?;
        }
    }
    grid.digest().map_err(Failure::new)
}
