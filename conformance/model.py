"""Makes one small Llama model with random weights in two formats: as files of Hugging Face, and as GGUF.

    model.py FOLDER

Both formats have the same weights and the same tokenizer. So all engines get the same requests, count the same tokens
and do the same work. The weights come from a fixed seed. The generated text has no meaning, and the token that ends a
text is as rare as any other token.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

HIDDEN, LAYERS, HEADS, KV_HEADS, VOCABULARY, CONTEXT = 256, 4, 8, 4, 4096, 2048
BEGIN, END = "<begin>", "<end>"


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE. It is trained on source files of NumPy, because this script needs NumPy anyway."""
    library = Path(np.__file__).parent
    texts = [path.read_text(errors="ignore") for path in sorted(library.glob("lib/*.py"))]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[BEGIN, END], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token=BEGIN, eos_token=END, pad_token=END)
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    return tokenizer


def make_model(vocabulary: int) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=vocabulary, hidden_size=HIDDEN, intermediate_size=2 * HIDDEN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, max_position_embeddings=CONTEXT,
        bos_token_id=0, eos_token_id=1, pad_token_id=1, tie_word_embeddings=False)).to(torch.float32)


def rotated(weight: np.ndarray, heads: int) -> np.ndarray:
    """Converts a query or key weight to the row order of llama.cpp. The rotary embedding of llama.cpp rotates pairs of
    neighbouring rows; that of Hugging Face's Llama rotates pairs of one row from each half of a head."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(path: Path, model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    config = model.config
    out = gguf.GGUFWriter(path, "llama")
    out.add_name("small-llama")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(HIDDEN)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(2 * HIDDEN)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_layer_norm_rms_eps(config.rms_norm_eps)
    out.add_rope_dimension_count(HIDDEN // HEADS)
    out.add_vocab_size(config.vocab_size)
    out.add_file_type(gguf.LlamaFileType.ALL_F32)

    bpe = tokenizer.backend_tokenizer
    words = sorted(bpe.get_vocab(), key=bpe.get_vocab().get)
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    merges = json.loads(bpe.to_str())["model"]["merges"]
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(words)
    out.add_token_types([control if word in (BEGIN, END) else normal for word in words])
    out.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    out.add_bos_token_id(0)
    out.add_eos_token_id(1)
    out.add_add_bos_token(False)
    out.add_chat_template(tokenizer.chat_template)

    names = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
             "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
             "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    whole = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
             "lm_head.weight": "output.weight"}
    for name, tensor in model.state_dict().items():
        weight = tensor.numpy()
        if name in whole:
            out.add_tensor(whole[name], weight)
            continue
        _, _, layer, rest = name.split(".", 3)
        part = names[rest.removesuffix(".weight")]
        if part in ("attn_q", "attn_k"):
            weight = rotated(weight, HEADS if part == "attn_q" else KV_HEADS)
        out.add_tensor(f"blk.{layer}.{part}.weight", np.ascontiguousarray(weight))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def main() -> None:
    folder = Path(sys.argv[1])
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    model = make_model(len(tokenizer))
    model.save_pretrained(folder)
    write_gguf(folder / "model.gguf", model, tokenizer)


main()
