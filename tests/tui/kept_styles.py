"""Styles that one application has worked out are not worked out again by the next."""

from __future__ import annotations

from typing import Any

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

_ORDER = frozenset({"first-of-type", "last-of-type", "first-child", "last-child", "empty"})
_Flags = tuple[bool, bool, bool, bool]


class KeptStyles:
    """The styles that rules give a node, by the rules and by all that their selectors ask of the node and its parents.

    ``apply`` takes the place of ``Stylesheet.apply``, from which they are learnt, ``replace`` that of its last step.
    """

    def __init__(self) -> None:
        self._apply, self._replace = Stylesheet.apply, Stylesheet.replace_rules
        self._candidates: dict[tuple[RuleSet, ...], tuple[int, tuple[str, ...], _Flags]] = {}
        self._styles: dict[tuple[Any, ...], Any] = {}
        self._found: dict[int, Any] = {}

    def apply(self, sheet: Stylesheet, node: DOMNode, animate: bool) -> None:
        number, pseudo_classes, flags = self._candidates_for(sheet, frozenset(node._selector_names))
        key = (number, *(_facts(each, pseudo_classes) for each in node.css_path_nodes))
        if key not in self._styles:
            self._apply(sheet, node, animate=animate)
            self._styles[key] = self._found.pop(id(node), None)
            return
        node._has_hover_style, node._has_focus_within, node._has_order_style, node._has_odd_or_even = flags
        if (styles := self._styles[key]) is not None:
            self._replace(node, styles, animate=animate)
        sheet._process_component_classes(node)

    def replace(self, node: DOMNode, rules: Any, animate: bool = False) -> None:
        self._found[id(node)] = rules
        self._replace(node, rules, animate=animate)

    def _candidates_for(self, sheet: Any, names: frozenset[str]) -> tuple[int, tuple[str, ...], _Flags]:
        """The number of the rules with these names, and what they ask for."""
        rules = sheet.rules
        if getattr(sheet, "_kept_for", None) is not rules:
            sheet._kept_for, sheet._kept = rules, {}
        found = sheet._kept.get(names)
        if found is None:
            of_names = {rule for name in sheet.rules_map.keys() & names for rule in sheet.rules_map[name]}
            candidates = tuple(filter(of_names.__contains__, rules))
            found = self._candidates.get(candidates)
            if found is None:
                asked = set[str]().union(*(rule.pseudo_classes for rule in candidates))
                odd_or_even = not asked.isdisjoint({"odd", "even"})
                flags = ("hover" in asked, "focus-within" in asked, not asked.isdisjoint(_ORDER), odd_or_even)
                found = self._candidates[candidates] = (len(self._candidates), tuple(sorted(asked)), flags)
            sheet._kept[names] = found
        return found


def _facts(node: DOMNode, pseudo_classes: tuple[str, ...]) -> tuple[Any, ...]:
    """All that a selector can ask of a node."""
    of_node = node._PSEUDO_CLASSES
    states = tuple(of_node[name](node) if name in of_node else False for name in pseudo_classes)
    return type(node), node._id, frozenset(node._classes), states
