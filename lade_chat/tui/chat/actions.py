"""Actions that keys, slash commands and menus share: copying, saving, editing, and the screens above the chat."""

from __future__ import annotations

from functools import partial

from textual.app import SuspendNotSupported

from lade_chat.errors import LadeChatError
from lade_chat.known_models.asked_model import fitted
from lade_chat.presentation.attachments import attach, parted
from lade_chat.presentation.metric_words import counted
from lade_chat.protocol.events import TokensRanked
from lade_chat.protocol.inspection import RankedToken
from lade_chat.protocol.values import ModelOptions, Piece
from lade_chat.store.conversation_documents import to_markdown
from lade_chat.tui.chat.chat_settings import keep
from lade_chat.tui.chat.chat_state import ALL_THOUGHT, NO_MODEL, Phase
from lade_chat.tui.chat.decisions import controls, navigation, questions, races
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.conversations.conversation_session import ShownTurn
from lade_chat.tui.prompt.completion import is_command, unescaped
from lade_chat.tui.reply.body import Thought
from lade_chat.tui.screens.model_choice import ModelScreen
from lade_chat.tui.screens.save_as import default_name, save_as
from lade_chat.tui.terminal.other_programs import code_blocks, edit, editor_command, to_system_clipboard
from lade_chat.tui.transcript.menus import TokenMenu, TurnAction, TurnMenu
from lade_chat.tui.transcript.turn_view import TurnView


def open_turn_menu(screen: LoopScreen, turn: TurnView, place: int | None = None) -> None:
    """Offer what can be done with a turn, or another token at a place of its reply."""
    if turn is screen.transcript.reply:
        another_token(screen)
        return
    if turn.kept is None:
        screen.hint("This turn is not in the conversation yet.")
        return
    number = turn.kept.turn.id
    if place is not None:
        open_token_menu(screen, number, place)
        return

    def chosen(action: TurnAction | None) -> None:
        if action is not None:
            action.act()
            if not action.keeps_focus:
                screen.prompt.focus()

    screen.app.push_screen(TurnMenu(_turn_actions(screen, turn.kept)), chosen)


def _turn_actions(screen: LoopScreen, shown: ShownTurn) -> list[TurnAction]:
    """Return what can be done with a stored turn."""
    session, decide, number, question = screen.state.conversation, screen.decide, shown.turn.id, shown.turn.question
    reply, last = session.whole_reply(number), session.whole(number)[-1]
    message, blocks = parted(question or "")[0], code_blocks(reply)
    said, asked, goes_on = bool(shown.turn.reply), question is not None, last.ending != "eos"
    back, ahead = shown.place > 1, shown.place < shown.count
    return [
        TurnAction("c", "Copy the reply", lambda: _copy(screen, reply, "the reply"), said),
        TurnAction("k", "Copy its code", lambda: _copy(screen, "\n\n".join(blocks), "the code"), bool(blocks)),
        TurnAction("m", "Copy the message", lambda: _copy(screen, message, "the message"), asked),
        TurnAction("r", "Ask again", lambda: decide(questions.ask_again, number)),
        TurnAction("e", "Edit the question and ask that", lambda: edit_question(screen, number), asked),
        TurnAction("a", "Edit the reply and have it go on", lambda: edit_reply(screen, number), said),
        TurnAction("g", "Have the reply go on", lambda: decide(questions.continue_from, number), said and goes_on),
        TurnAction("t", "Another token, and go on from there", lambda: open_token_menu(screen, number), said),
        TurnAction("b", "Go on from here; what follows is kept", lambda: decide(navigation.branch, last.id)),
        TurnAction("[", "The alternative before", lambda: decide(navigation.go_beside, number, -1), back, True),
        TurnAction("]", "The next alternative", lambda: decide(navigation.go_beside, number, 1), ahead, True),
    ]


def race(screen: LoopScreen, text: str = "") -> None:
    """Race over ``text``, else the draft unless that is a command, else the last question. Raises LadeChatError."""
    draft = screen.prompt.message
    if not text.strip() and not is_command(draft):
        text = draft
    screen.decide(races.race, attach(unescaped(text)), screen.draft)


def edit_question(screen: LoopScreen, turn: int | None = None) -> None:
    """Put a question, by default the last, into the prompt: the next message replaces it."""
    waiting = screen.state.waiting
    if turn is None and waiting:
        screen.decide(questions.take_back)
        if waiting[-1].is_message:  # it was not asked yet
            return
    path = screen.state.conversation.path
    asked = [(each.id, each.question) for each in path if each.question is not None and turn in (None, each.id)]
    if not asked:
        screen.hint("There is no question to edit yet.")
    else:
        last, question = asked[-1]
        screen.prompt.revise(last, parted(question)[0])


def edit_reply(screen: LoopScreen, turn: int | None = None) -> None:
    """Put the answer of a reply, by default the last, into the prompt: the model goes on from what is sent."""
    session = screen.state.conversation
    replied = [each.id for each in session.path if each.question is not None and session.whole_text(each.id)]
    if turn is None and not replied:
        screen.hint("There is no reply to edit yet.")
        return
    turn = replied[-1] if turn is None else turn
    if answer := session.whole_reply(turn):
        screen.prompt.revise(turn, answer, is_reply=True)
    else:
        screen.hint(ALL_THOUGHT)


def drop_draft(screen: LoopScreen) -> bool:
    """Clear the draft, which Up recalls, and give up editing; False if there is nothing to clear."""
    is_editing, is_typed = screen.prompt.editing is not None, screen.prompt.is_typed
    is_dropped = screen.prompt.drop_draft()
    if is_editing:
        back = " Up brings back what you typed." if is_typed else ""
        screen.hint(f"Nothing is changed: the editing was given up.{back}")
    return is_dropped


def revise_reply(screen: LoopScreen, turn: int, answer: str) -> None:
    """Have the model go on from an edited answer, before which the reply's thought stays."""
    session = screen.state.conversation
    whole = session.whole_text(turn)
    thought = whole.removesuffix(session.whole_reply(turn))
    # The next word brings its own blank.
    screen.decide(questions.revise, turn, thought + answer.rstrip(" "), draft=answer)


def open_token_menu(screen: LoopScreen, turn: int, place: int | None = None) -> None:
    """Show the likeliest tokens at a place of a reply, by default the last; the one chosen begins another reply."""
    session, model = screen.state.conversation, screen.state.model
    if model is None or screen.state.refusal_to_change():
        screen.hint(screen.key_names.put_into(screen.state.refusal_to_change() or NO_MODEL))
        return
    pieces = [piece for part in session.whole(turn) for piece in part.pieces()]

    def chosen(branch: tuple[str, RankedToken] | None) -> None:
        if branch is not None:
            text, token = branch
            screen.decide(questions.revise, turn, text + token.text, ends=token.ends)

    def rank(text: str, own: int, place: int) -> None:
        screen.decide(questions.rank_tokens, turn, text, own, place)

    places = [place for place, piece in enumerate(pieces) if piece.text]
    screen.app.push_screen(TokenMenu(pieces, places, rank, model.name, place), chosen)


def another_token(screen: LoopScreen) -> None:
    """Offer the likeliest tokens that may come next in a paused reply, else those at each place of the last one."""
    state = screen.state
    last = state.conversation.again()
    if state.phase is Phase.REPLYING:
        _offer_next_tokens(screen)
    elif last is None or last.instead_of is None or not state.conversation.whole_text(last.instead_of):
        screen.hint("There is no reply yet.")
    else:
        open_token_menu(screen, last.instead_of)


def _offer_next_tokens(screen: LoopScreen) -> None:
    screen.slow_motion.settle()
    state, reply = screen.state, screen.transcript.reply
    tokens, waits = state.next_tokens, "A message waits: take it back first, with Up in an empty prompt."
    if reply is None or state.model is None or not tokens or state.waiting:
        begins = "The next token is not known here" if state.paused else "{pause} pauses the reply first"
        screen.hint(waits if state.waiting else screen.key_names.put_into(f"{begins}; {{step_once}} takes a step."))
        return
    pieces = [Piece(text, "plain", -1, 0) for text in (reply.text, "")]
    menu = TokenMenu(pieces, [1], lambda *_: menu.show_event(TokensRanked(1, tokens)), state.model.name)

    def chosen(branch: tuple[str, RankedToken] | None) -> None:
        if branch is not None:
            take_next(screen, tokens.index(branch[1]))

    screen.app.push_screen(menu, chosen)


def take_next(screen: LoopScreen, number: int) -> None:
    """Have another reply go on with one of the tokens that may come next in the paused one."""
    state = screen.state
    if state.statistics is not None and number < len(state.next_tokens) and not state.waiting:
        screen.decide(controls.take_next, state.next_tokens[number], state.statistics.steps)


def copy_last(screen: LoopScreen, what: str = "") -> None:
    """Copy the last reply, its ``code``, or ``all`` of the conversation. Raises ValueError, LadeChatError."""
    if what not in ("", "code", "all"):
        raise ValueError("Use /copy, /copy code, or /copy all.")
    session = screen.state.conversation
    asked = [turn.id for turn in session.path if turn.question is not None and turn.reply]
    reply = session.whole_reply(asked[-1]) if asked else ""
    blocks = code_blocks(reply)
    if not asked:
        raise LadeChatError("There is no reply to copy yet.")
    if what == "all":
        _copy(screen, to_markdown(screen.conversation), "the conversation")
    elif not what:
        _copy(screen, reply, "the reply")
    elif blocks:
        _copy(screen, "\n\n".join(blocks), "the code")
    else:
        raise LadeChatError("There is no code block in the last reply.")


def _copy(screen: LoopScreen, text: str, what: str) -> None:
    """Copy a text to the clipboard, and report it as ``what``; a reply without one is all thought."""
    if not text:
        screen.hint(ALL_THOUGHT)
        return
    screen.app.copy_to_clipboard(text)
    screen.run_worker(partial(to_system_clipboard, text), thread=True, group="copying")
    screen.hint(f"Copied {what}: {counted(len(text), 'character')}.")


def save(screen: LoopScreen, name: str, suffix: str) -> None:
    """Save the conversation or a picture of its last reply, as the name's suffix says. Raises LadeChatError."""
    name = name or default_name(screen.conversation.title, suffix)
    save_as(screen, screen.conversation, name, suffix, screen.hint)


def edit_outside(screen: LoopScreen) -> None:
    """Edit the message in the user's editor; the screen is suspended meanwhile."""
    prompt, text, problem = screen.prompt, None, ""
    try:
        command = editor_command()
        with screen.app.suspend():
            try:
                text = edit(prompt.message, command)
            except LadeChatError as error:  # raised further, it would keep Textual from taking the terminal back
                problem = str(error)
    except LadeChatError as error:
        problem = str(error)
    except SuspendNotSupported:
        problem = "An editor cannot be opened here."
    if text is None:
        screen.hint(problem)
    else:
        prompt.put(text)
    screen.refresh(layout=True)


def open_model(screen: LoopScreen, error: str = "", options: ModelOptions | None = None) -> None:
    """Open the model dialog, with ``error``, at these options, by default those asked for last."""

    def chosen(wanted: ModelOptions | None) -> None:
        if wanted is not None:
            load_model(screen, wanted)

    folder, aliases = screen.store_worker.store.path.parent, screen.preferences.aliases
    screen.app.push_screen(ModelScreen(options or screen.state.loads.wanted, folder, error, aliases), chosen)


def load_model(screen: LoopScreen, asked: ModelOptions) -> None:
    """Load a model, and say what it cannot have of what was asked for."""
    options, left_out = fitted(asked)
    screen.decide(navigation.load_model, options, asked)
    screen.transcript.note_instead("left out", *filter(None, [left_out]))


def toggle_thoughts(screen: LoopScreen) -> None:
    """Open or fold the model's thoughts; kept for next time."""
    transcript = screen.transcript
    if not transcript.query(Thought):
        screen.hint("There are no thoughts to open in this conversation.")
        return
    transcript.open_thoughts(not transcript.thoughts_open)
    keep(screen, {"open_thoughts": transcript.thoughts_open})


def turn_page(screen: LoopScreen, direction: int) -> None:
    """Scroll the transcript by a page, 0 to its end; at its top, show earlier turns."""
    transcript = screen.transcript
    if direction == 0:
        transcript.follow()
    elif direction > 0:
        transcript.action_page_down()
    elif transcript.scroll_y > 0 or not transcript.show_earlier():
        transcript.action_page_up()
